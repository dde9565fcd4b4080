#version 330 core
#include "lib/pixel.glsl"
#include "lib/coverage.glsl"
noperspective in vec4 v_colour;
noperspective in vec4 v_edges;
noperspective in vec4 v_soft;
noperspective in vec4 v_range;
out vec4 o_colour;

void main()
{
    vec2 p = pixel_centre();
    vec2 x = v_edges.xy + v_edges.zw * (p.y - v_range.x);
    float grow = 0.5 * max(v_soft.z - (x.y - x.x), 0.0);
    vec2 in_edges = clamp((vec2(p.x - x.x, x.y - p.x) + grow) * v_soft.xy + 0.5, 0.0, 1.0);
    float cover = max(in_edges.x + in_edges.y - 1.0, 0.0) * overlap(p.y, v_range.x, v_range.y);
    cover *= step(v_range.z, p.x) * step(p.x, v_range.w);
    o_colour = v_colour * cover;
}
