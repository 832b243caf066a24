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

/// A kernel may be started before the one before it ends (`kernels/common.cuh`).
#[test]
fn every_kernel_waits_for_earlier_ones() {
    let mut kernels = 0;
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels")).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for kernel in text.split("__global__").skip(1) {
            let body = kernel.split_once('{').unwrap().1.trim_start();
            assert!(
                body.starts_with("await_earlier_kernels();"),
                "{}: {}",
                path.display(),
                kernel.lines().next().unwrap()
            );
            kernels += 1;
        }
    }
    assert!(kernels > 30, "{kernels} kernels found");
}
