/* SQLite on an open descriptor: register, then open the descriptor's number as a name in the VFS of this name. */
#ifndef MAREY_PARSE_SQLITE_VFS_H
#define MAREY_PARSE_SQLITE_VFS_H

#include <sqlite3.h>

#define SQLITE_FD_VFS "marey-fd"

/** Thread: any; done once. */
void sqlite_fd_vfs_register(void);

#endif
