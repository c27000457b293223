// Found from ../src as repositories have it; defined beside what includes it.
#pragma once

void check_launch(const char* file, int line);
