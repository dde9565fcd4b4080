#version 330 core
#include "lib/frame.glsl"
// A glyph, texel on pixel; a_box is what of it is drawn, a_texel where that lies in the atlas.
layout(location = 0) in vec4 a_box;    // x0, y0, x1, y1
layout(location = 1) in uvec4 a_texel; // x, y, page, unused
layout(location = 2) in vec4 a_colour;
noperspective out vec4 v_colour;
noperspective out vec3 v_shift; // from pixel to texel; page
noperspective out float v_boost;

void main()
{
    v_colour = a_colour;
    v_shift = vec3(vec2(a_texel.xy) - a_box.xy, float(a_texel.z));
    // Blending in sRGB makes light text on dark thinner than it is, dark on light hardly: coverage is raised for light.
    v_boost = mix(0.04, 0.30, dot(a_colour.rgb, vec3(0.299, 0.587, 0.114)));
    gl_Position = frame_position(mix(a_box.xy, a_box.zw, frame_corner()));
}
