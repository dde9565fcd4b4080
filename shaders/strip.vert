#version 330 core
#include "lib/frame.glsl"
// Rows of cells that have the same columns, one above the other; a_box is what of them is drawn.
layout(location = 0) in vec4 a_box;   // x0, y0, x1, y1
layout(location = 1) in vec4 a_field; // column of the first cell, pixel row of the first record, record
noperspective out vec4 v_field;

void main()
{
    v_field = a_field;
    gl_Position = frame_position(mix(a_box.xy, a_box.zw, frame_corner()));
}
