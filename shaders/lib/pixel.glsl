// The middle of the pixel, y down. Not gl_FragCoord: with the origin at the top Mesa 22.3 keeps the height of the last
// framebuffer when only that changes.
noperspective in vec2 v_pixel;

vec2 pixel_centre()
{
    return floor(v_pixel) + 0.5;
}
