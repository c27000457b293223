// Catch2 2.13's main(). Built only for that version: 3.x brings its own as a library.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
