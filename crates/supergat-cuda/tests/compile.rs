//! Every kernel compiles for the architectures in use.

fn compile(architecture: &str, all_definitions: bool) {
    match supergat_cuda::compile_all(architecture, all_definitions).unwrap() {
        Some(count) => println!("{count} kernels compiled for {architecture}"),
        None => println!("skipped: no NVRTC"),
    }
}

#[test]
fn all_kernels_compile() {
    compile("sm_80", false);
    compile("sm_90", false);
}

#[test]
#[ignore = "compiles every variant, which takes ten minutes; the other test compiles every source once"]
fn all_kernels_compile_with_all_definitions() {
    compile("sm_80", true);
    compile("sm_90", true);
}
