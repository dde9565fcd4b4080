#version 330 core
uniform usampler2D u_cells;
out vec4 o_colour;

void main()
{
    uvec4 cell = texelFetch(u_cells, ivec2(gl_FragCoord.xy), 0);
    vec4 c = vec4(cell) * (1.0 / 255.0);
    o_colour = vec4(mix(c.rgb, c.bgr, 0.25) * c.a, c.a);
}
