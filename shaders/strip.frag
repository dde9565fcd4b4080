#version 330 core
#include "lib/pixel.glsl"
// Cells lie in rows of 2048: class, occupancy, flags, alpha (draw/draw_list.h).
uniform usampler2D u_cells;
// One record for each pixel row of a strip, in rows of 1024: where its first cell lies (row, column: 13 and 11 bits), and
// the occupancy that a cell must exceed to be inked so far above the floor (8 bits).
uniform usampler2D u_rows;
// The classes' colours, and behind them the same for cells that hold an event of severity.
uniform sampler2D u_palette;
noperspective in vec4 v_field;
out vec4 o_colour;

const uint EDGE = 1u;
const uint SEVERE = 4u;
const uint COARSE = 8u;
const uint SELECTED = 16u;

void main()
{
    ivec2 at = ivec2(pixel_centre() - v_field.xy);
    int record = at.y + int(v_field.z + 0.5);
    uint row = texelFetch(u_rows, ivec2(record & 1023, record >> 10), 0).r;
    int i = int(row >> 8) + at.x;
    uvec4 cell = texelFetch(u_cells, ivec2(i & 2047, i >> 11), 0);
    uint klass = min(cell.x, 31u) + ((cell.z & SEVERE) << 3);
    vec3 colour = texelFetch(u_palette, ivec2(int(klass), 0), 0).rgb;
    float alpha = (cell.z & SELECTED) != 0u ? 1.0 : float(cell.w) * (1.0 / 255.0);
    alpha *= (cell.z & EDGE) != 0u ? 0.45 : 1.0;
    alpha *= (cell.z & COARSE) != 0u ? 0.7 : 1.0;
    alpha = cell.x < 32u && cell.y > (row & 255u) ? alpha : 0.0;
    o_colour = vec4(colour * alpha, alpha);
}
