#version 330 core
#include "lib/frame.glsl"
// A part of the picture of low rows: texel on pixel, or one row of texels over several rows of pixels.
layout(location = 0) in vec4 a_box;    // x0, y0, x1, y1
layout(location = 1) in vec4 a_texels; // the same corners in the picture
uniform sampler2D u_picture;
out vec2 v_at;

void main()
{
    vec2 corner = frame_corner();
    v_at = mix(a_texels.xy, a_texels.zw, corner) / vec2(textureSize(u_picture, 0));
    gl_Position = frame_position(mix(a_box.xy, a_box.zw, corner));
}
