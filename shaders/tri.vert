#version 330 core
#include "lib/frame.glsl"
// A triangle, drawn as the box around it; its corners run clockwise on the screen.
layout(location = 0) in vec4 a_box; // x0, y0, x1, y1
layout(location = 1) in vec4 a_ab;  // two corners
layout(location = 2) in vec2 a_c;   // the third
layout(location = 3) in vec4 a_colour;
noperspective out vec4 v_colour;
noperspective out vec3 v_edge[3]; // unit normal that points inside, offset

vec3 edge(vec2 from, vec2 to)
{
    vec2 t = to - from;
    vec2 n = vec2(-t.y, t.x) / max(length(t), 1e-6);
    return vec3(n, -dot(n, from));
}

void main()
{
    v_colour = premultiply(a_colour);
    v_edge[0] = edge(a_ab.xy, a_ab.zw);
    v_edge[1] = edge(a_ab.zw, a_c);
    v_edge[2] = edge(a_c, a_ab.xy);
    gl_Position = frame_position(mix(a_box.xy, a_box.zw, frame_corner()));
}
