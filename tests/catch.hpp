// Catch2, whichever version the system has: 2.13 comes in one header, 3.x in several.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
