//! Which loops a scan may run along: those whose values make up its iname, in order.

use loopwright_kernel_ir::{Lookup, LoopKernel};
use loopwright_legality::along;

/// The number of loops along which `y[i] = sum(j, x[j])` over `j <= i` is a scan, where `i = 4*o +
/// 3*m + r`; otherwise the code of the refusal.
fn loops(domain: &str, tag: &str) -> Result<usize, String> {
    let value = "4*o + 3*m + r";
    let text = format!(
        "\
kernel k(x: f32[n], y: f32[8], n: i32)
assume n >= 8
domain {{ [o, m, r] : {domain} }}
domain {{ [j] : 0 <= j <= {value} }}
domain {{ [j_new] : 0 = j_new }}
domain {{ [i] }}
let j = j_new + {value}
let i = {value}
{tag}y[i] = sum(j, x[j]) {{id=prefix, inames=o:m:r, scan=i, map=[i: i]}}
tree {{
    prefix.init
    for o {{
        for m {{
            for r {{
                for j_new {{
                    prefix.update
                }}
                prefix.finish
            }}
        }}
    }}
}}
declared {{
kernel k(x: f32[n], y: f32[8], n: i32)
assume n >= 8
domain {{ [i] : 0 <= i < 8 }}
domain {{ [j] : 0 <= j <= i }}
y[i] = sum(j, x[j]) {{id=prefix}}
}}
"
    );
    let kernel = LoopKernel::parse(&text).unwrap_or_else(|d| panic!("{d}\n{text}"));
    let lookup = Lookup::new(&kernel);
    let found = along(&kernel, &lookup, kernel.instruction("prefix").unwrap()).unwrap();
    found.map(|inames| inames.len()).map_err(|d| d.code.to_string())
}

/// Four values, split by three: the second of two parts has one value, so that `3*m + r` is at most
/// 3 though `m` and `r` alone would allow 5.
#[test]
fn parts_that_fill_their_range_jointly_are_in_order() {
    let refused = Err("scan-iname".to_string());
    assert_eq!(loops("0 <= o < 2 and 0 <= r < 3 and 0 <= 3*m + r < 4", ""), Ok(3));
    // Five values for each step of four.
    assert_eq!(loops("0 <= o < 2 and 0 <= r < 3 and 0 <= 3*m + r < 5", ""), refused);
    assert_eq!(loops("0 <= o < 2 and 0 <= r < 4 and 0 <= 3*m + r < 4", ""), refused);
}
