/* A program outside of marey that draws: argv[1] a converted file, argv[2] the picture. */
#include <marey/marey.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char message[512];
    marey_file *f = NULL;
    if (argc != 3 || marey_file_open(&f, argv[1], message, sizeof message) != MAREY_OK) {
        return 2;
    }
    marey_view_options o = {.width_px = 640, .height_px = 360, .layout = MAREY_LAYOUT_MAREY, .light = true};
    o.t1_ns = marey_file_info(f).duration_ns;
    marey_file_close(&f);
    marey_status status = marey_view_render(argv[1], argv[2], &o, message, sizeof message);
    if (status != MAREY_OK) {
        (void)fprintf(stderr, "%s\n", message);
        return status == MAREY_GPU || status == MAREY_FONT ? 77 : 1;
    }
    o.width_px = -1;
    return marey_view_render(argv[1], argv[2], &o, message, sizeof message) == MAREY_ARG && message[0] ? 0 : 1;
}
