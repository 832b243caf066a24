//! Every kernel compiles for the architectures in use.

#[test]
fn all_kernels_compile() {
    for architecture in ["sm_80", "sm_90"] {
        match supergat_cuda::compile_all(architecture).unwrap() {
            Some(count) => println!("{count} sources compiled for {architecture}"),
            None => println!("skipped: no NVRTC"),
        }
    }
}
