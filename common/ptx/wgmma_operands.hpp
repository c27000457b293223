// The operands of wgmma.mma_async, spelt out for every N: inline PTX wants each register of the sums by its
// number, and behind them nine more operands by theirs.
#pragma once

// clang-format off

#define GEMM_WGMMA_SUMS_8 "%0, %1, %2, %3"
#define GEMM_WGMMA_HELD_8(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define GEMM_WGMMA_SUMS_16 GEMM_WGMMA_SUMS_8 ", %4, %5, %6, %7"
#define GEMM_WGMMA_HELD_16(d) GEMM_WGMMA_HELD_8(d), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define GEMM_WGMMA_SUMS_24 GEMM_WGMMA_SUMS_16 ", %8, %9, %10, %11"
#define GEMM_WGMMA_HELD_24(d) GEMM_WGMMA_HELD_16(d), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define GEMM_WGMMA_SUMS_32 GEMM_WGMMA_SUMS_24 ", %12, %13, %14, %15"
#define GEMM_WGMMA_HELD_32(d) GEMM_WGMMA_HELD_24(d), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define GEMM_WGMMA_SUMS_40 GEMM_WGMMA_SUMS_32 ", %16, %17, %18, %19"
#define GEMM_WGMMA_HELD_40(d) GEMM_WGMMA_HELD_32(d), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define GEMM_WGMMA_SUMS_48 GEMM_WGMMA_SUMS_40 ", %20, %21, %22, %23"
#define GEMM_WGMMA_HELD_48(d) GEMM_WGMMA_HELD_40(d), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define GEMM_WGMMA_SUMS_56 GEMM_WGMMA_SUMS_48 ", %24, %25, %26, %27"
#define GEMM_WGMMA_HELD_56(d) GEMM_WGMMA_HELD_48(d), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define GEMM_WGMMA_SUMS_64 GEMM_WGMMA_SUMS_56 ", %28, %29, %30, %31"
#define GEMM_WGMMA_HELD_64(d) GEMM_WGMMA_HELD_56(d), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define GEMM_WGMMA_SUMS_72 GEMM_WGMMA_SUMS_64 ", %32, %33, %34, %35"
#define GEMM_WGMMA_HELD_72(d) GEMM_WGMMA_HELD_64(d), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define GEMM_WGMMA_SUMS_80 GEMM_WGMMA_SUMS_72 ", %36, %37, %38, %39"
#define GEMM_WGMMA_HELD_80(d) GEMM_WGMMA_HELD_72(d), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define GEMM_WGMMA_SUMS_88 GEMM_WGMMA_SUMS_80 ", %40, %41, %42, %43"
#define GEMM_WGMMA_HELD_88(d) GEMM_WGMMA_HELD_80(d), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define GEMM_WGMMA_SUMS_96 GEMM_WGMMA_SUMS_88 ", %44, %45, %46, %47"
#define GEMM_WGMMA_HELD_96(d) GEMM_WGMMA_HELD_88(d), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define GEMM_WGMMA_SUMS_104 GEMM_WGMMA_SUMS_96 ", %48, %49, %50, %51"
#define GEMM_WGMMA_HELD_104(d) GEMM_WGMMA_HELD_96(d), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define GEMM_WGMMA_SUMS_112 GEMM_WGMMA_SUMS_104 ", %52, %53, %54, %55"
#define GEMM_WGMMA_HELD_112(d) GEMM_WGMMA_HELD_104(d), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define GEMM_WGMMA_SUMS_120 GEMM_WGMMA_SUMS_112 ", %56, %57, %58, %59"
#define GEMM_WGMMA_HELD_120(d) GEMM_WGMMA_HELD_112(d), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define GEMM_WGMMA_SUMS_128 GEMM_WGMMA_SUMS_120 ", %60, %61, %62, %63"
#define GEMM_WGMMA_HELD_128(d) GEMM_WGMMA_HELD_120(d), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define GEMM_WGMMA_SUMS_136 GEMM_WGMMA_SUMS_128 ", %64, %65, %66, %67"
#define GEMM_WGMMA_HELD_136(d) GEMM_WGMMA_HELD_128(d), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define GEMM_WGMMA_SUMS_144 GEMM_WGMMA_SUMS_136 ", %68, %69, %70, %71"
#define GEMM_WGMMA_HELD_144(d) GEMM_WGMMA_HELD_136(d), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define GEMM_WGMMA_SUMS_152 GEMM_WGMMA_SUMS_144 ", %72, %73, %74, %75"
#define GEMM_WGMMA_HELD_152(d) GEMM_WGMMA_HELD_144(d), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
#define GEMM_WGMMA_SUMS_160 GEMM_WGMMA_SUMS_152 ", %76, %77, %78, %79"
#define GEMM_WGMMA_HELD_160(d) GEMM_WGMMA_HELD_152(d), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define GEMM_WGMMA_SUMS_168 GEMM_WGMMA_SUMS_160 ", %80, %81, %82, %83"
#define GEMM_WGMMA_HELD_168(d) GEMM_WGMMA_HELD_160(d), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define GEMM_WGMMA_SUMS_176 GEMM_WGMMA_SUMS_168 ", %84, %85, %86, %87"
#define GEMM_WGMMA_HELD_176(d) GEMM_WGMMA_HELD_168(d), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define GEMM_WGMMA_SUMS_184 GEMM_WGMMA_SUMS_176 ", %88, %89, %90, %91"
#define GEMM_WGMMA_HELD_184(d) GEMM_WGMMA_HELD_176(d), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define GEMM_WGMMA_SUMS_192 GEMM_WGMMA_SUMS_184 ", %92, %93, %94, %95"
#define GEMM_WGMMA_HELD_192(d) GEMM_WGMMA_HELD_184(d), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define GEMM_WGMMA_SUMS_200 GEMM_WGMMA_SUMS_192 ", %96, %97, %98, %99"
#define GEMM_WGMMA_HELD_200(d) GEMM_WGMMA_HELD_192(d), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99])
#define GEMM_WGMMA_SUMS_208 GEMM_WGMMA_SUMS_200 ", %100, %101, %102, %103"
#define GEMM_WGMMA_HELD_208(d) GEMM_WGMMA_HELD_200(d), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define GEMM_WGMMA_SUMS_216 GEMM_WGMMA_SUMS_208 ", %104, %105, %106, %107"
#define GEMM_WGMMA_HELD_216(d) GEMM_WGMMA_HELD_208(d), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107])
#define GEMM_WGMMA_SUMS_224 GEMM_WGMMA_SUMS_216 ", %108, %109, %110, %111"
#define GEMM_WGMMA_HELD_224(d) GEMM_WGMMA_HELD_216(d), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define GEMM_WGMMA_SUMS_232 GEMM_WGMMA_SUMS_224 ", %112, %113, %114, %115"
#define GEMM_WGMMA_HELD_232(d) GEMM_WGMMA_HELD_224(d), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115])
#define GEMM_WGMMA_SUMS_240 GEMM_WGMMA_SUMS_232 ", %116, %117, %118, %119"
#define GEMM_WGMMA_HELD_240(d) GEMM_WGMMA_HELD_232(d), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define GEMM_WGMMA_SUMS_248 GEMM_WGMMA_SUMS_240 ", %120, %121, %122, %123"
#define GEMM_WGMMA_HELD_248(d) GEMM_WGMMA_HELD_240(d), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123])
#define GEMM_WGMMA_SUMS_256 GEMM_WGMMA_SUMS_248 ", %124, %125, %126, %127"
#define GEMM_WGMMA_HELD_256(d) GEMM_WGMMA_HELD_248(d), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

/// Calls X(N, the numbers of the operands behind the sums) for every N.
#define GEMM_WGMMA_SHAPES(X) \
    X(8, "%4", "%5", "%6", "%7", "%8", "%9", "%10", "%11", "%12") \
    X(16, "%8", "%9", "%10", "%11", "%12", "%13", "%14", "%15", "%16") \
    X(24, "%12", "%13", "%14", "%15", "%16", "%17", "%18", "%19", "%20") \
    X(32, "%16", "%17", "%18", "%19", "%20", "%21", "%22", "%23", "%24") \
    X(40, "%20", "%21", "%22", "%23", "%24", "%25", "%26", "%27", "%28") \
    X(48, "%24", "%25", "%26", "%27", "%28", "%29", "%30", "%31", "%32") \
    X(56, "%28", "%29", "%30", "%31", "%32", "%33", "%34", "%35", "%36") \
    X(64, "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39", "%40") \
    X(72, "%36", "%37", "%38", "%39", "%40", "%41", "%42", "%43", "%44") \
    X(80, "%40", "%41", "%42", "%43", "%44", "%45", "%46", "%47", "%48") \
    X(88, "%44", "%45", "%46", "%47", "%48", "%49", "%50", "%51", "%52") \
    X(96, "%48", "%49", "%50", "%51", "%52", "%53", "%54", "%55", "%56") \
    X(104, "%52", "%53", "%54", "%55", "%56", "%57", "%58", "%59", "%60") \
    X(112, "%56", "%57", "%58", "%59", "%60", "%61", "%62", "%63", "%64") \
    X(120, "%60", "%61", "%62", "%63", "%64", "%65", "%66", "%67", "%68") \
    X(128, "%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71", "%72") \
    X(136, "%68", "%69", "%70", "%71", "%72", "%73", "%74", "%75", "%76") \
    X(144, "%72", "%73", "%74", "%75", "%76", "%77", "%78", "%79", "%80") \
    X(152, "%76", "%77", "%78", "%79", "%80", "%81", "%82", "%83", "%84") \
    X(160, "%80", "%81", "%82", "%83", "%84", "%85", "%86", "%87", "%88") \
    X(168, "%84", "%85", "%86", "%87", "%88", "%89", "%90", "%91", "%92") \
    X(176, "%88", "%89", "%90", "%91", "%92", "%93", "%94", "%95", "%96") \
    X(184, "%92", "%93", "%94", "%95", "%96", "%97", "%98", "%99", "%100") \
    X(192, "%96", "%97", "%98", "%99", "%100", "%101", "%102", "%103", "%104") \
    X(200, "%100", "%101", "%102", "%103", "%104", "%105", "%106", "%107", "%108") \
    X(208, "%104", "%105", "%106", "%107", "%108", "%109", "%110", "%111", "%112") \
    X(216, "%108", "%109", "%110", "%111", "%112", "%113", "%114", "%115", "%116") \
    X(224, "%112", "%113", "%114", "%115", "%116", "%117", "%118", "%119", "%120") \
    X(232, "%116", "%117", "%118", "%119", "%120", "%121", "%122", "%123", "%124") \
    X(240, "%120", "%121", "%122", "%123", "%124", "%125", "%126", "%127", "%128") \
    X(248, "%124", "%125", "%126", "%127", "%128", "%129", "%130", "%131", "%132") \
    X(256, "%128", "%129", "%130", "%131", "%132", "%133", "%134", "%135", "%136")

// clang-format on
