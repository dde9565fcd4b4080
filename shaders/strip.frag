#version 330 core
layout(origin_upper_left) in vec4 gl_FragCoord;
// Cells lie in rows of 2048: class, occupancy, flags, alpha (draw/draw_list.h).
uniform usampler2D u_cells;
uniform vec4 u_palette[33]; // the classes, then the colour of severity
flat in vec3 v_place;
flat in ivec2 v_cells;
out vec4 o_colour;

const uint EDGE = 1u;
const uint SEVERE = 4u;
const uint COARSE = 8u;
const uint SELECTED = 16u;

void main()
{
    int i = v_cells.x + int(gl_FragCoord.x - v_place.x);
    uvec4 cell = texelFetch(u_cells, ivec2(i & 2047, i >> 11), 0);
    float occupancy = float(cell.y) * (1.0 / 255.0);
    bool dims = v_cells.y != 0;
    float bar = dims ? v_place.z : max(floor(v_place.z * occupancy + 0.5), 1.0);
    float alpha = (cell.z & SELECTED) != 0u ? 1.0 : float(cell.w) * (1.0 / 255.0);
    alpha *= dims ? mix(0.25, 1.0, occupancy) : 1.0;
    alpha *= (cell.z & EDGE) != 0u ? 0.45 : 1.0;
    alpha *= (cell.z & COARSE) != 0u ? 0.7 : 1.0;
    alpha *= cell.x < 32u && v_place.y - gl_FragCoord.y < bar ? 1.0 : 0.0;
    vec3 colour = u_palette[int(min(cell.x, 31u))].rgb;
    colour = mix(colour, u_palette[32].rgb, (cell.z & SEVERE) != 0u ? 0.35 : 0.0);
    o_colour = vec4(colour * alpha, alpha);
}
