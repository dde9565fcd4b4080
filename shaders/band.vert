#version 330 core
#include "lib/frame.glsl"
// Two edges that run from (x0, x1) at the top to (x2, x3) at the bottom. What is drawn is the quadrilateral between them,
// wider by what antialiasing and the least width need, and cut to the clip in y; the fragment shader cuts it in x.
layout(location = 0) in vec2 a_y; // top, bottom
layout(location = 1) in vec4 a_x; // left and right at the top, left and right at the bottom
layout(location = 2) in vec4 a_colour;
layout(location = 3) in vec4 a_clip; // x0, y0, x1, y1
noperspective out vec4 v_colour;
noperspective out vec4 v_edges; // left and right at the top, their slopes (px of x per px of y)
noperspective out vec4 v_soft;  // 1 / width of each edge's ramp, least width, unused
noperspective out vec4 v_range; // y: top, bottom; x: clip

void main()
{
    float height = max(a_y.y - a_y.x, 1e-3);
    vec2 slope = (a_x.zw - a_x.xy) / height;
    vec2 ramp = max(abs(slope), 1.0);
    float middle_slope = 0.5 * (slope.x + slope.y);
    float least = sqrt(1.0 + middle_slope * middle_slope);
    v_colour = premultiply(a_colour);
    v_edges = vec4(a_x.xy, slope);
    v_soft = vec4(1.0 / ramp, least, 0.0);
    v_range = vec4(a_y, a_clip.xz);

    vec2 corner = frame_corner();
    vec2 rows = clamp(vec2(floor(a_y.x), ceil(a_y.y)), a_clip.yy, a_clip.ww);
    float y = mix(rows.x, rows.y, corner.y);
    float narrow = max(least - min(a_x.y - a_x.x, a_x.w - a_x.z), 0.0);
    vec2 margin = vec2(-0.5, 0.5) * (ramp + narrow) + vec2(-0.02, 0.02);
    vec2 x = a_x.xy + slope * (y - a_y.x) + margin;
    // A band that leans little is drawn as the box around it, which fills faster than a slanted shape.
    vec2 box = vec2(min(a_x.x, a_x.z), max(a_x.y, a_x.w));
    vec2 least_box = vec2(max(a_x.x, a_x.z), min(a_x.y, a_x.w));
    bool upright = box.y - box.x < 2.0 * max(least_box.y - least_box.x, 0.0) + 24.0;
    x = upright ? clamp(box + margin, a_clip.xx, a_clip.zz) : x;
    gl_Position = frame_position(vec2(mix(x.x, x.y, corner.x), y));
}
