#version 330 core
#include "lib/frame.glsl"
// A rectangle with round corners and a border inside its edge; a_box is what of it is drawn.
layout(location = 0) in vec4 a_box;  // x0, y0, x1, y1
layout(location = 1) in vec4 a_rect; // centre, half size
layout(location = 2) in vec4 a_fill;
layout(location = 3) in vec4 a_border;
layout(location = 4) in vec2 a_edge; // radius, border width
noperspective out vec4 v_rect;
noperspective out vec4 v_fill;
noperspective out vec4 v_border;
noperspective out vec2 v_edge;

void main()
{
    v_rect = a_rect;
    v_fill = premultiply(a_fill);
    v_border = a_edge.y > 0.0 ? premultiply(a_border) : v_fill;
    v_edge = a_edge;
    gl_Position = frame_position(mix(a_box.xy, a_box.zw, frame_corner()));
}
