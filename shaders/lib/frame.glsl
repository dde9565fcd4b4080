// What every vertex shader shares: pixels (y down) to clip space, and the four corners of an instance.
uniform vec2 u_pixel; // 2 / frame size

vec4 frame_position(vec2 p)
{
    return vec4(p.x * u_pixel.x - 1.0, 1.0 - p.y * u_pixel.y, 0.0, 1.0);
}

// 0 or 1 in x and y: the corner of the strip of four vertices.
vec2 frame_corner()
{
    return vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1));
}

vec4 premultiply(vec4 c)
{
    return vec4(c.rgb * c.a, c.a);
}
