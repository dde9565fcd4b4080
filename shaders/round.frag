#version 330 core
#include "lib/pixel.glsl"
noperspective in vec4 v_rect;
noperspective in vec4 v_fill;
noperspective in vec4 v_border;
noperspective in vec2 v_edge;
out vec4 o_colour;

// Signed distance to the edge, negative inside.
float edge_distance(vec2 p)
{
    vec2 q = abs(p - v_rect.xy) - v_rect.zw + v_edge.x;
    return min(max(q.x, q.y), 0.0) + length(max(q, 0.0)) - v_edge.x;
}

void main()
{
    float d = edge_distance(pixel_centre());
    float outer = clamp(0.5 - d, 0.0, 1.0);
    float inner = clamp(0.5 - d - v_edge.y, 0.0, 1.0);
    o_colour = mix(v_border, v_fill, inner) * outer;
}
