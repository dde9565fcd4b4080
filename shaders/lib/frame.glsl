// What every vertex shader shares: pixels (y down) to clip space, and the corners of an instance.
//
// An instance is two triangles, six vertices, and what it hands to the fragment shader is the same at all six. Such values
// are declared noperspective, not flat: Mesa's software renderer fills rectangles twice as fast that way, and an
// interpolation between equal values gives that value.
uniform vec2 u_pixel; // 2 / frame size
noperspective out vec2 v_pixel;

vec4 frame_position(vec2 p)
{
    v_pixel = p;
    return vec4(p.x * u_pixel.x - 1.0, 1.0 - p.y * u_pixel.y, 0.0, 1.0);
}

// 0 or 1 in x and y: (0,0) (1,0) (0,1), (1,0) (1,1) (0,1).
vec2 frame_corner()
{
    return vec2(float((26 >> gl_VertexID) & 1), float((52 >> gl_VertexID) & 1));
}

vec4 premultiply(vec4 c)
{
    return vec4(c.rgb * c.a, c.a);
}
