#version 330 core
#include "lib/pixel.glsl"
noperspective in vec4 v_colour;
noperspective in vec3 v_edge[3];
out vec4 o_colour;

void main()
{
    vec3 p = vec3(pixel_centre(), 1.0);
    float d = min(min(dot(v_edge[0], p), dot(v_edge[1], p)), dot(v_edge[2], p));
    o_colour = v_colour * clamp(d + 0.5, 0.0, 1.0);
}
