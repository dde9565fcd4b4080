// How much of the pixel around `x` (one wide) lies in [a, b]. Exact for edges that are parallel to the pixel's.
float overlap(float x, float a, float b)
{
    return max(min(x + 0.5, b) - max(x - 0.5, a), 0.0);
}

// 1 inside the clip rectangle (x0, y0, x1, y1), which lies on whole pixels; 0 outside.
float inside(vec2 p, vec4 clip)
{
    vec2 in_low = step(clip.xy, p);
    vec2 in_high = step(p, clip.zw);
    return in_low.x * in_low.y * in_high.x * in_high.y;
}
