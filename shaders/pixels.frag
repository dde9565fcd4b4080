#version 330 core
// Nothing but a copy: Mesa's software renderer has a way of its own for that, many times as fast as any other shader.
uniform sampler2D u_picture;
in vec2 v_at;
out vec4 o_colour;

void main()
{
    o_colour = texture(u_picture, v_at);
}
