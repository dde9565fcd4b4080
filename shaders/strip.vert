#version 330 core
#include "lib/frame.glsl"
// A row of cells, one a pixel column; a_box is what of it is drawn.
layout(location = 0) in vec4 a_box;   // x0, y0, x1, y1
layout(location = 1) in vec3 a_place; // left edge, floor, height of a full bar
layout(location = 2) in uvec2 a_cells; // first cell, 1: occupancy dims instead of lowering the bar
flat out vec3 v_place;
flat out ivec2 v_cells;

void main()
{
    v_place = a_place;
    v_cells = ivec2(a_cells);
    gl_Position = frame_position(mix(a_box.xy, a_box.zw, frame_corner()));
}
