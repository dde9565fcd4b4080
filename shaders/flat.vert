#version 330 core
#include "lib/frame.glsl"
// A rectangle on whole pixels, in one colour: surfaces, hairlines, most cells.
layout(location = 0) in vec4 a_box; // x0, y0, x1, y1
layout(location = 1) in vec4 a_colour;
noperspective out vec4 v_colour;

void main()
{
    v_colour = premultiply(a_colour);
    gl_Position = frame_position(mix(a_box.xy, a_box.zw, frame_corner()));
}
