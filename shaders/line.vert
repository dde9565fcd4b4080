#version 330 core
#include "lib/frame.glsl"
// A segment with square ends, as a box turned along it and a pixel larger all round.
layout(location = 0) in vec4 a_ends;  // x0, y0, x1, y1
layout(location = 1) in vec2 a_style; // width, dash
layout(location = 2) in vec4 a_colour;
layout(location = 3) in vec4 a_clip;
noperspective out vec4 v_colour;
noperspective out vec4 v_clip;
noperspective out vec4 v_axis;  // start, direction
noperspective out vec3 v_style; // length, half width, dash

void main()
{
    vec2 along = a_ends.zw - a_ends.xy;
    float len = max(length(along), 1e-3);
    vec2 t = along / len;
    vec2 n = vec2(-t.y, t.x);
    v_colour = premultiply(a_colour);
    v_clip = a_clip;
    v_axis = vec4(a_ends.xy, t);
    v_style = vec3(len, 0.5 * a_style.x, a_style.y);
    vec2 corner = frame_corner();
    vec2 p = a_ends.xy + t * mix(-1.0, len + 1.0, corner.x) + n * (2.0 * corner.y - 1.0) * (0.5 * a_style.x + 1.0);
    gl_Position = frame_position(p);
}
