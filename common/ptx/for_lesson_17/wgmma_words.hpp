// The operands of wgmma.mma_async as wgmma_operands.hpp has them, for sums that are 32-bit words: integers,
// or two of FP16 each. COUNT words.
#pragma once

// clang-format off

#define GEMM_WGMMA_NAMES_2 "%0, %1"
#define GEMM_WGMMA_WORDS_2(d) "+r"(d[0]), "+r"(d[1])
#define GEMM_WGMMA_NAMES_4 GEMM_WGMMA_NAMES_2 ", %2, %3"
#define GEMM_WGMMA_WORDS_4(d) GEMM_WGMMA_WORDS_2(d), "+r"(d[2]), "+r"(d[3])
#define GEMM_WGMMA_NAMES_6 GEMM_WGMMA_NAMES_4 ", %4, %5"
#define GEMM_WGMMA_WORDS_6(d) GEMM_WGMMA_WORDS_4(d), "+r"(d[4]), "+r"(d[5])
#define GEMM_WGMMA_NAMES_8 GEMM_WGMMA_NAMES_6 ", %6, %7"
#define GEMM_WGMMA_WORDS_8(d) GEMM_WGMMA_WORDS_6(d), "+r"(d[6]), "+r"(d[7])
#define GEMM_WGMMA_NAMES_10 GEMM_WGMMA_NAMES_8 ", %8, %9"
#define GEMM_WGMMA_WORDS_10(d) GEMM_WGMMA_WORDS_8(d), "+r"(d[8]), "+r"(d[9])
#define GEMM_WGMMA_NAMES_12 GEMM_WGMMA_NAMES_10 ", %10, %11"
#define GEMM_WGMMA_WORDS_12(d) GEMM_WGMMA_WORDS_10(d), "+r"(d[10]), "+r"(d[11])
#define GEMM_WGMMA_NAMES_14 GEMM_WGMMA_NAMES_12 ", %12, %13"
#define GEMM_WGMMA_WORDS_14(d) GEMM_WGMMA_WORDS_12(d), "+r"(d[12]), "+r"(d[13])
#define GEMM_WGMMA_NAMES_16 GEMM_WGMMA_NAMES_14 ", %14, %15"
#define GEMM_WGMMA_WORDS_16(d) GEMM_WGMMA_WORDS_14(d), "+r"(d[14]), "+r"(d[15])
#define GEMM_WGMMA_NAMES_18 GEMM_WGMMA_NAMES_16 ", %16, %17"
#define GEMM_WGMMA_WORDS_18(d) GEMM_WGMMA_WORDS_16(d), "+r"(d[16]), "+r"(d[17])
#define GEMM_WGMMA_NAMES_20 GEMM_WGMMA_NAMES_18 ", %18, %19"
#define GEMM_WGMMA_WORDS_20(d) GEMM_WGMMA_WORDS_18(d), "+r"(d[18]), "+r"(d[19])
#define GEMM_WGMMA_NAMES_22 GEMM_WGMMA_NAMES_20 ", %20, %21"
#define GEMM_WGMMA_WORDS_22(d) GEMM_WGMMA_WORDS_20(d), "+r"(d[20]), "+r"(d[21])
#define GEMM_WGMMA_NAMES_24 GEMM_WGMMA_NAMES_22 ", %22, %23"
#define GEMM_WGMMA_WORDS_24(d) GEMM_WGMMA_WORDS_22(d), "+r"(d[22]), "+r"(d[23])
#define GEMM_WGMMA_NAMES_26 GEMM_WGMMA_NAMES_24 ", %24, %25"
#define GEMM_WGMMA_WORDS_26(d) GEMM_WGMMA_WORDS_24(d), "+r"(d[24]), "+r"(d[25])
#define GEMM_WGMMA_NAMES_28 GEMM_WGMMA_NAMES_26 ", %26, %27"
#define GEMM_WGMMA_WORDS_28(d) GEMM_WGMMA_WORDS_26(d), "+r"(d[26]), "+r"(d[27])
#define GEMM_WGMMA_NAMES_30 GEMM_WGMMA_NAMES_28 ", %28, %29"
#define GEMM_WGMMA_WORDS_30(d) GEMM_WGMMA_WORDS_28(d), "+r"(d[28]), "+r"(d[29])
#define GEMM_WGMMA_NAMES_32 GEMM_WGMMA_NAMES_30 ", %30, %31"
#define GEMM_WGMMA_WORDS_32(d) GEMM_WGMMA_WORDS_30(d), "+r"(d[30]), "+r"(d[31])
#define GEMM_WGMMA_NAMES_34 GEMM_WGMMA_NAMES_32 ", %32, %33"
#define GEMM_WGMMA_WORDS_34(d) GEMM_WGMMA_WORDS_32(d), "+r"(d[32]), "+r"(d[33])
#define GEMM_WGMMA_NAMES_36 GEMM_WGMMA_NAMES_34 ", %34, %35"
#define GEMM_WGMMA_WORDS_36(d) GEMM_WGMMA_WORDS_34(d), "+r"(d[34]), "+r"(d[35])
#define GEMM_WGMMA_NAMES_38 GEMM_WGMMA_NAMES_36 ", %36, %37"
#define GEMM_WGMMA_WORDS_38(d) GEMM_WGMMA_WORDS_36(d), "+r"(d[36]), "+r"(d[37])
#define GEMM_WGMMA_NAMES_40 GEMM_WGMMA_NAMES_38 ", %38, %39"
#define GEMM_WGMMA_WORDS_40(d) GEMM_WGMMA_WORDS_38(d), "+r"(d[38]), "+r"(d[39])
#define GEMM_WGMMA_NAMES_42 GEMM_WGMMA_NAMES_40 ", %40, %41"
#define GEMM_WGMMA_WORDS_42(d) GEMM_WGMMA_WORDS_40(d), "+r"(d[40]), "+r"(d[41])
#define GEMM_WGMMA_NAMES_44 GEMM_WGMMA_NAMES_42 ", %42, %43"
#define GEMM_WGMMA_WORDS_44(d) GEMM_WGMMA_WORDS_42(d), "+r"(d[42]), "+r"(d[43])
#define GEMM_WGMMA_NAMES_46 GEMM_WGMMA_NAMES_44 ", %44, %45"
#define GEMM_WGMMA_WORDS_46(d) GEMM_WGMMA_WORDS_44(d), "+r"(d[44]), "+r"(d[45])
#define GEMM_WGMMA_NAMES_48 GEMM_WGMMA_NAMES_46 ", %46, %47"
#define GEMM_WGMMA_WORDS_48(d) GEMM_WGMMA_WORDS_46(d), "+r"(d[46]), "+r"(d[47])
#define GEMM_WGMMA_NAMES_50 GEMM_WGMMA_NAMES_48 ", %48, %49"
#define GEMM_WGMMA_WORDS_50(d) GEMM_WGMMA_WORDS_48(d), "+r"(d[48]), "+r"(d[49])
#define GEMM_WGMMA_NAMES_52 GEMM_WGMMA_NAMES_50 ", %50, %51"
#define GEMM_WGMMA_WORDS_52(d) GEMM_WGMMA_WORDS_50(d), "+r"(d[50]), "+r"(d[51])
#define GEMM_WGMMA_NAMES_54 GEMM_WGMMA_NAMES_52 ", %52, %53"
#define GEMM_WGMMA_WORDS_54(d) GEMM_WGMMA_WORDS_52(d), "+r"(d[52]), "+r"(d[53])
#define GEMM_WGMMA_NAMES_56 GEMM_WGMMA_NAMES_54 ", %54, %55"
#define GEMM_WGMMA_WORDS_56(d) GEMM_WGMMA_WORDS_54(d), "+r"(d[54]), "+r"(d[55])
#define GEMM_WGMMA_NAMES_58 GEMM_WGMMA_NAMES_56 ", %56, %57"
#define GEMM_WGMMA_WORDS_58(d) GEMM_WGMMA_WORDS_56(d), "+r"(d[56]), "+r"(d[57])
#define GEMM_WGMMA_NAMES_60 GEMM_WGMMA_NAMES_58 ", %58, %59"
#define GEMM_WGMMA_WORDS_60(d) GEMM_WGMMA_WORDS_58(d), "+r"(d[58]), "+r"(d[59])
#define GEMM_WGMMA_NAMES_62 GEMM_WGMMA_NAMES_60 ", %60, %61"
#define GEMM_WGMMA_WORDS_62(d) GEMM_WGMMA_WORDS_60(d), "+r"(d[60]), "+r"(d[61])
#define GEMM_WGMMA_NAMES_64 GEMM_WGMMA_NAMES_62 ", %62, %63"
#define GEMM_WGMMA_WORDS_64(d) GEMM_WGMMA_WORDS_62(d), "+r"(d[62]), "+r"(d[63])
#define GEMM_WGMMA_NAMES_66 GEMM_WGMMA_NAMES_64 ", %64, %65"
#define GEMM_WGMMA_WORDS_66(d) GEMM_WGMMA_WORDS_64(d), "+r"(d[64]), "+r"(d[65])
#define GEMM_WGMMA_NAMES_68 GEMM_WGMMA_NAMES_66 ", %66, %67"
#define GEMM_WGMMA_WORDS_68(d) GEMM_WGMMA_WORDS_66(d), "+r"(d[66]), "+r"(d[67])
#define GEMM_WGMMA_NAMES_70 GEMM_WGMMA_NAMES_68 ", %68, %69"
#define GEMM_WGMMA_WORDS_70(d) GEMM_WGMMA_WORDS_68(d), "+r"(d[68]), "+r"(d[69])
#define GEMM_WGMMA_NAMES_72 GEMM_WGMMA_NAMES_70 ", %70, %71"
#define GEMM_WGMMA_WORDS_72(d) GEMM_WGMMA_WORDS_70(d), "+r"(d[70]), "+r"(d[71])
#define GEMM_WGMMA_NAMES_74 GEMM_WGMMA_NAMES_72 ", %72, %73"
#define GEMM_WGMMA_WORDS_74(d) GEMM_WGMMA_WORDS_72(d), "+r"(d[72]), "+r"(d[73])
#define GEMM_WGMMA_NAMES_76 GEMM_WGMMA_NAMES_74 ", %74, %75"
#define GEMM_WGMMA_WORDS_76(d) GEMM_WGMMA_WORDS_74(d), "+r"(d[74]), "+r"(d[75])
#define GEMM_WGMMA_NAMES_78 GEMM_WGMMA_NAMES_76 ", %76, %77"
#define GEMM_WGMMA_WORDS_78(d) GEMM_WGMMA_WORDS_76(d), "+r"(d[76]), "+r"(d[77])
#define GEMM_WGMMA_NAMES_80 GEMM_WGMMA_NAMES_78 ", %78, %79"
#define GEMM_WGMMA_WORDS_80(d) GEMM_WGMMA_WORDS_78(d), "+r"(d[78]), "+r"(d[79])
#define GEMM_WGMMA_NAMES_82 GEMM_WGMMA_NAMES_80 ", %80, %81"
#define GEMM_WGMMA_WORDS_82(d) GEMM_WGMMA_WORDS_80(d), "+r"(d[80]), "+r"(d[81])
#define GEMM_WGMMA_NAMES_84 GEMM_WGMMA_NAMES_82 ", %82, %83"
#define GEMM_WGMMA_WORDS_84(d) GEMM_WGMMA_WORDS_82(d), "+r"(d[82]), "+r"(d[83])
#define GEMM_WGMMA_NAMES_86 GEMM_WGMMA_NAMES_84 ", %84, %85"
#define GEMM_WGMMA_WORDS_86(d) GEMM_WGMMA_WORDS_84(d), "+r"(d[84]), "+r"(d[85])
#define GEMM_WGMMA_NAMES_88 GEMM_WGMMA_NAMES_86 ", %86, %87"
#define GEMM_WGMMA_WORDS_88(d) GEMM_WGMMA_WORDS_86(d), "+r"(d[86]), "+r"(d[87])
#define GEMM_WGMMA_NAMES_90 GEMM_WGMMA_NAMES_88 ", %88, %89"
#define GEMM_WGMMA_WORDS_90(d) GEMM_WGMMA_WORDS_88(d), "+r"(d[88]), "+r"(d[89])
#define GEMM_WGMMA_NAMES_92 GEMM_WGMMA_NAMES_90 ", %90, %91"
#define GEMM_WGMMA_WORDS_92(d) GEMM_WGMMA_WORDS_90(d), "+r"(d[90]), "+r"(d[91])
#define GEMM_WGMMA_NAMES_94 GEMM_WGMMA_NAMES_92 ", %92, %93"
#define GEMM_WGMMA_WORDS_94(d) GEMM_WGMMA_WORDS_92(d), "+r"(d[92]), "+r"(d[93])
#define GEMM_WGMMA_NAMES_96 GEMM_WGMMA_NAMES_94 ", %94, %95"
#define GEMM_WGMMA_WORDS_96(d) GEMM_WGMMA_WORDS_94(d), "+r"(d[94]), "+r"(d[95])
#define GEMM_WGMMA_NAMES_98 GEMM_WGMMA_NAMES_96 ", %96, %97"
#define GEMM_WGMMA_WORDS_98(d) GEMM_WGMMA_WORDS_96(d), "+r"(d[96]), "+r"(d[97])
#define GEMM_WGMMA_NAMES_100 GEMM_WGMMA_NAMES_98 ", %98, %99"
#define GEMM_WGMMA_WORDS_100(d) GEMM_WGMMA_WORDS_98(d), "+r"(d[98]), "+r"(d[99])
#define GEMM_WGMMA_NAMES_102 GEMM_WGMMA_NAMES_100 ", %100, %101"
#define GEMM_WGMMA_WORDS_102(d) GEMM_WGMMA_WORDS_100(d), "+r"(d[100]), "+r"(d[101])
#define GEMM_WGMMA_NAMES_104 GEMM_WGMMA_NAMES_102 ", %102, %103"
#define GEMM_WGMMA_WORDS_104(d) GEMM_WGMMA_WORDS_102(d), "+r"(d[102]), "+r"(d[103])
#define GEMM_WGMMA_NAMES_106 GEMM_WGMMA_NAMES_104 ", %104, %105"
#define GEMM_WGMMA_WORDS_106(d) GEMM_WGMMA_WORDS_104(d), "+r"(d[104]), "+r"(d[105])
#define GEMM_WGMMA_NAMES_108 GEMM_WGMMA_NAMES_106 ", %106, %107"
#define GEMM_WGMMA_WORDS_108(d) GEMM_WGMMA_WORDS_106(d), "+r"(d[106]), "+r"(d[107])
#define GEMM_WGMMA_NAMES_110 GEMM_WGMMA_NAMES_108 ", %108, %109"
#define GEMM_WGMMA_WORDS_110(d) GEMM_WGMMA_WORDS_108(d), "+r"(d[108]), "+r"(d[109])
#define GEMM_WGMMA_NAMES_112 GEMM_WGMMA_NAMES_110 ", %110, %111"
#define GEMM_WGMMA_WORDS_112(d) GEMM_WGMMA_WORDS_110(d), "+r"(d[110]), "+r"(d[111])
#define GEMM_WGMMA_NAMES_114 GEMM_WGMMA_NAMES_112 ", %112, %113"
#define GEMM_WGMMA_WORDS_114(d) GEMM_WGMMA_WORDS_112(d), "+r"(d[112]), "+r"(d[113])
#define GEMM_WGMMA_NAMES_116 GEMM_WGMMA_NAMES_114 ", %114, %115"
#define GEMM_WGMMA_WORDS_116(d) GEMM_WGMMA_WORDS_114(d), "+r"(d[114]), "+r"(d[115])
#define GEMM_WGMMA_NAMES_118 GEMM_WGMMA_NAMES_116 ", %116, %117"
#define GEMM_WGMMA_WORDS_118(d) GEMM_WGMMA_WORDS_116(d), "+r"(d[116]), "+r"(d[117])
#define GEMM_WGMMA_NAMES_120 GEMM_WGMMA_NAMES_118 ", %118, %119"
#define GEMM_WGMMA_WORDS_120(d) GEMM_WGMMA_WORDS_118(d), "+r"(d[118]), "+r"(d[119])
#define GEMM_WGMMA_NAMES_122 GEMM_WGMMA_NAMES_120 ", %120, %121"
#define GEMM_WGMMA_WORDS_122(d) GEMM_WGMMA_WORDS_120(d), "+r"(d[120]), "+r"(d[121])
#define GEMM_WGMMA_NAMES_124 GEMM_WGMMA_NAMES_122 ", %122, %123"
#define GEMM_WGMMA_WORDS_124(d) GEMM_WGMMA_WORDS_122(d), "+r"(d[122]), "+r"(d[123])
#define GEMM_WGMMA_NAMES_126 GEMM_WGMMA_NAMES_124 ", %124, %125"
#define GEMM_WGMMA_WORDS_126(d) GEMM_WGMMA_WORDS_124(d), "+r"(d[124]), "+r"(d[125])
#define GEMM_WGMMA_NAMES_128 GEMM_WGMMA_NAMES_126 ", %126, %127"
#define GEMM_WGMMA_WORDS_128(d) GEMM_WGMMA_WORDS_126(d), "+r"(d[126]), "+r"(d[127])

/// Calls X(N, COUNT, the numbers of the operands behind the sums) for every N that integers can have.
#define GEMM_WGMMA_SHAPES_S32(X) \
    X(8, 4, "%4", "%5", "%6", "%7", "%8", "%9", "%10", "%11") \
    X(16, 8, "%8", "%9", "%10", "%11", "%12", "%13", "%14", "%15") \
    X(24, 12, "%12", "%13", "%14", "%15", "%16", "%17", "%18", "%19") \
    X(32, 16, "%16", "%17", "%18", "%19", "%20", "%21", "%22", "%23") \
    X(48, 24, "%24", "%25", "%26", "%27", "%28", "%29", "%30", "%31") \
    X(64, 32, "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39") \
    X(80, 40, "%40", "%41", "%42", "%43", "%44", "%45", "%46", "%47") \
    X(96, 48, "%48", "%49", "%50", "%51", "%52", "%53", "%54", "%55") \
    X(112, 56, "%56", "%57", "%58", "%59", "%60", "%61", "%62", "%63") \
    X(128, 64, "%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71") \
    X(144, 72, "%72", "%73", "%74", "%75", "%76", "%77", "%78", "%79") \
    X(160, 80, "%80", "%81", "%82", "%83", "%84", "%85", "%86", "%87") \
    X(176, 88, "%88", "%89", "%90", "%91", "%92", "%93", "%94", "%95") \
    X(192, 96, "%96", "%97", "%98", "%99", "%100", "%101", "%102", "%103") \
    X(208, 104, "%104", "%105", "%106", "%107", "%108", "%109", "%110", "%111") \
    X(224, 112, "%112", "%113", "%114", "%115", "%116", "%117", "%118", "%119") \
    X(240, 120, "%120", "%121", "%122", "%123", "%124", "%125", "%126", "%127") \
    X(256, 128, "%128", "%129", "%130", "%131", "%132", "%133", "%134", "%135")

/// The same for every N of sums of FP16.
#define GEMM_WGMMA_SHAPES_F16(X) \
    X(8, 2, "%2", "%3", "%4", "%5", "%6", "%7", "%8", "%9") \
    X(16, 4, "%4", "%5", "%6", "%7", "%8", "%9", "%10", "%11") \
    X(24, 6, "%6", "%7", "%8", "%9", "%10", "%11", "%12", "%13") \
    X(32, 8, "%8", "%9", "%10", "%11", "%12", "%13", "%14", "%15") \
    X(40, 10, "%10", "%11", "%12", "%13", "%14", "%15", "%16", "%17") \
    X(48, 12, "%12", "%13", "%14", "%15", "%16", "%17", "%18", "%19") \
    X(56, 14, "%14", "%15", "%16", "%17", "%18", "%19", "%20", "%21") \
    X(64, 16, "%16", "%17", "%18", "%19", "%20", "%21", "%22", "%23") \
    X(72, 18, "%18", "%19", "%20", "%21", "%22", "%23", "%24", "%25") \
    X(80, 20, "%20", "%21", "%22", "%23", "%24", "%25", "%26", "%27") \
    X(88, 22, "%22", "%23", "%24", "%25", "%26", "%27", "%28", "%29") \
    X(96, 24, "%24", "%25", "%26", "%27", "%28", "%29", "%30", "%31") \
    X(104, 26, "%26", "%27", "%28", "%29", "%30", "%31", "%32", "%33") \
    X(112, 28, "%28", "%29", "%30", "%31", "%32", "%33", "%34", "%35") \
    X(120, 30, "%30", "%31", "%32", "%33", "%34", "%35", "%36", "%37") \
    X(128, 32, "%32", "%33", "%34", "%35", "%36", "%37", "%38", "%39") \
    X(136, 34, "%34", "%35", "%36", "%37", "%38", "%39", "%40", "%41") \
    X(144, 36, "%36", "%37", "%38", "%39", "%40", "%41", "%42", "%43") \
    X(152, 38, "%38", "%39", "%40", "%41", "%42", "%43", "%44", "%45") \
    X(160, 40, "%40", "%41", "%42", "%43", "%44", "%45", "%46", "%47") \
    X(168, 42, "%42", "%43", "%44", "%45", "%46", "%47", "%48", "%49") \
    X(176, 44, "%44", "%45", "%46", "%47", "%48", "%49", "%50", "%51") \
    X(184, 46, "%46", "%47", "%48", "%49", "%50", "%51", "%52", "%53") \
    X(192, 48, "%48", "%49", "%50", "%51", "%52", "%53", "%54", "%55") \
    X(200, 50, "%50", "%51", "%52", "%53", "%54", "%55", "%56", "%57") \
    X(208, 52, "%52", "%53", "%54", "%55", "%56", "%57", "%58", "%59") \
    X(216, 54, "%54", "%55", "%56", "%57", "%58", "%59", "%60", "%61") \
    X(224, 56, "%56", "%57", "%58", "%59", "%60", "%61", "%62", "%63") \
    X(232, 58, "%58", "%59", "%60", "%61", "%62", "%63", "%64", "%65") \
    X(240, 60, "%60", "%61", "%62", "%63", "%64", "%65", "%66", "%67") \
    X(248, 62, "%62", "%63", "%64", "%65", "%66", "%67", "%68", "%69") \
    X(256, 64, "%64", "%65", "%66", "%67", "%68", "%69", "%70", "%71")

// clang-format on
