#pragma once

#ifdef TILE_ROWS
constexpr int T = 32, ROWS = TILE_ROWS;
#endif
