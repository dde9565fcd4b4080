#version 330 core
#include "lib/pixel.glsl"
uniform sampler2DArray u_atlas;
noperspective in vec4 v_colour;
noperspective in vec3 v_shift;
noperspective in float v_boost;
out vec4 o_colour;

void main()
{
    float cover = texelFetch(u_atlas, ivec3(vec3(pixel_centre(), 0.5) + v_shift), 0).r;
    cover += v_boost * cover * (1.0 - cover);
    float alpha = v_colour.a * cover;
    o_colour = vec4(v_colour.rgb * alpha, alpha);
}
