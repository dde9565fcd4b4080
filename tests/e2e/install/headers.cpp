// The headers in C++: they compile, and what they declare is there.
#include <marey/marey.h>

int main()
{
    return marey_version()[0] == '0' ? 0 : 1;
}
