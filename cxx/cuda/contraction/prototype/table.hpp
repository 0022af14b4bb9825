#pragma once
#include <vector>
struct Entry { const void* f; bool resident; int BM, BN, threads, BK, stages, xl, yl; int rows_stay; };
