#version 330 core
#include "lib/pixel.glsl"
#include "lib/coverage.glsl"
noperspective in vec4 v_colour;
noperspective in vec4 v_clip;
noperspective in vec4 v_axis;
noperspective in vec3 v_style;
out vec4 o_colour;

float dashes(float along, float dash)
{
    float m = mod(along, 2.0 * dash);
    return overlap(m, 0.0, dash) + overlap(m, 2.0 * dash, 3.0 * dash);
}

void main()
{
    vec2 p = pixel_centre() - v_axis.xy;
    float along = dot(p, v_axis.zw);
    float across = dot(p, vec2(-v_axis.w, v_axis.z));
    float cover = overlap(along, 0.0, v_style.x) * overlap(across, -v_style.y, v_style.y);
    cover *= v_style.z > 0.0 ? dashes(along, v_style.z) : 1.0;
    o_colour = v_colour * cover * inside(pixel_centre(), v_clip);
}
