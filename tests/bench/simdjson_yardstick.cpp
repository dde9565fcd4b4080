#include "simdjson_yardstick.h"

#include <simdjson.h>

struct yardstick {
    simdjson::dom::parser parser;
    simdjson::padded_string text;
};

yardstick *yardstick_create(const char *data, size_t n)
{
    return new yardstick{simdjson::dom::parser(), simdjson::padded_string(data, n)};
}

int yardstick_parse(yardstick *y)
{
    simdjson::dom::element root;
    return y->parser.parse(y->text).get(root) == simdjson::SUCCESS ? 0 : 1;
}

void yardstick_destroy(yardstick *y)
{
    delete y;
}
