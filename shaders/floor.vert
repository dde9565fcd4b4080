#version 330 core
#include "lib/frame.glsl"
// The whole frame once: what frames are measured against.
layout(location = 0) in vec4 a_box; // x0, y0, x1, y1

void main()
{
    gl_Position = frame_position(mix(a_box.xy, a_box.zw, frame_corner()));
}
