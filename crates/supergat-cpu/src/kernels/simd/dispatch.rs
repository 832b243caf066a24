//! Choice of the instruction set at run time.

#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
use super::lanes::{Isa, SimdReal};
use super::portable::Portable;
use std::sync::OnceLock;
use supergat_core::{Error, Result};

/// A unit of work that is compiled for each instruction set.
///
/// `run` and every function it calls in a loop must be `#[inline(always)]`: a function compiled on its own
/// does not use the instruction set of its caller.
pub trait Kernel {
    /// Type of the numbers it computes with.
    type Number: SimdReal;
    /// Type of its result.
    type Output;
    /// Whether the kernel is compiled for AVX-512: those on integers or on pairs of vectors gain from it.
    const USES_AVX512: bool = false;
    /// Whether the kernel is compiled for AVX2 in double precision too: those that principal components need.
    /// Other kernels use double precision only to check gradients.
    const FAST_DOUBLE: bool = false;
    /// Does the work.
    fn run<I: Isa>(self) -> Self::Output;
}

/// The available instruction sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// The baseline of the processor family.
    Portable,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 F, VL, DQ and BW, and BMI2: the floating-point vectors of AVX2, and pairs of them and integers in
    /// longer vectors.
    Avx512,
}

impl Simd {
    const VARIABLE: &str = "SUPERGAT_SIMD";
    const ALL: [Self; 3] = [Self::Portable, Self::Avx2, Self::Avx512];

    /// Returns the instruction set in use: the best one that the processor supports, or the one that the environment
    /// variable `SUPERGAT_SIMD` requests (`portable`, `avx2` or `avx512`). A value that [`Simd::requested`] refuses is
    /// ignored here.
    pub fn active() -> Self {
        static ACTIVE: OnceLock<Simd> = OnceLock::new();
        *ACTIVE.get_or_init(|| Self::requested().ok().flatten().unwrap_or_else(Self::detect))
    }

    /// Returns the instruction set that the environment variable `SUPERGAT_SIMD` requests, if it is set. Fails if there
    /// is none of this name, or if the processor does not support it. Programs call it once, before they compute.
    pub fn requested() -> Result<Option<Self>> {
        let value = std::env::var_os(Self::VARIABLE).filter(|value| !value.is_empty());
        value.map(|value| Self::named(&value.to_string_lossy(), Self::detect())).transpose()
    }

    /// Returns the instruction set of a name, if it is at most the best one of the processor.
    fn named(name: &str, best: Self) -> Result<Self> {
        let names = |sets: &mut dyn Iterator<Item = Self>| sets.map(Self::name).collect::<Vec<_>>().join(", ");
        let reason = match Self::ALL.into_iter().find(|simd| simd.name() == name) {
            Some(simd) if simd <= best => return Ok(simd),
            Some(_) => {
                let supported = names(&mut Self::ALL.into_iter().filter(|simd| *simd <= best));
                format!("this processor supports {supported} only")
            }
            None => format!("must be one of {}", names(&mut Self::ALL.into_iter())),
        };
        Err(Error::Hyperparameter { name: Self::VARIABLE, value: name.to_owned(), reason })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Self {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("bmi2");
        match (avx2, avx512) {
            (true, true) => Self::Avx512,
            (true, false) => Self::Avx2,
            _ => Self::Portable,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detect() -> Self {
        Self::Portable
    }
}

/// Runs a kernel with the active instruction set.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    // A constant condition: the compiler then omits the instances that are never run.
    if const { K::Number::HAS_VECTORS || K::FAST_DOUBLE } {
        match Simd::active() {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Simd::active` returns `Avx2` only after detecting its features.
            Simd::Avx2 => unsafe { run_avx2(kernel) },
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => {
                if K::USES_AVX512 {
                    // SAFETY: `Simd::active` returns `Avx512` only after detecting its features.
                    unsafe { run_avx512(kernel) }
                } else {
                    // SAFETY: `Simd::active` returns `Avx512` only after detecting the features of `Avx2`
                    // too.
                    unsafe { run_avx2(kernel) }
                }
            }
            _ => run_portable(kernel),
        }
    } else {
        run_portable(kernel)
    }
}

/// Runs a kernel with the baseline instruction set. Never inlined: kernels are long, and each inlined copy
/// would be compiled again.
#[inline(never)]
fn run_portable<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Portable>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw,bmi2")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

#[cfg(test)]
mod tests {
    use super::super::lanes::{Arithmetic as _, Lanes, Pair};
    use super::super::rows::dot;
    use super::*;
    use supergat_core::Real as _;

    /// Compares the operations of one vector type with scalar arithmetic.
    fn check<X: Lanes>() {
        let number = X::Item::from_f64;
        let of = |values: [f64; 8]| X::load(&values.map(number));
        let same = |found: X, expected: [f64; 8]| {
            for (f, e) in found.array().into_iter().zip(expected) {
                assert!((f.to_f64() - e).abs() <= 1e-6 * e.abs().max(1.0), "{:?} {expected:?}", found.array());
            }
        };
        let x = [1.0, -2.0, 4.0, 0.0, 16.0, -32.0, 64.0, -0.5];
        let y = [3.0, 5.0, -7.0, 2.0, 1.0, 4.0, -1.0, 8.0];
        let each = |f: fn(f64, f64) -> f64| std::array::from_fn(|l| f(x[l], y[l]));
        same(of(x).add(of(y)), each(|a, b| a + b));
        same(of(x).sub(of(y)), each(|a, b| a - b));
        same(of(x).mul(of(y)), each(|a, b| a * b));
        same(of(x).div(of(y)), each(|a, b| a / b));
        same(of(x).max(of(y)), each(f64::max));
        same(of(x).mul_add(of(y), X::splat(number(0.5))), each(|a, b| a * b + 0.5));
        same(of(y).exp(), each(|_, b| b.exp()));
        same(of(y).sigmoid(), each(|_, b| 1.0 / (1.0 + (-b).exp())));
        same(of(x).if_positive(of(y), X::zero()), each(|a, b| if a > 0.0 { b } else { 0.0 }));
        same(X::from_bits(0b1000_0101, number(2.0)), [2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
        let powers = of([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        same(powers.fold(8), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        same(powers.fold(4), [17.0, 34.0, 68.0, 136.0, 17.0, 34.0, 68.0, 136.0]);
        same(powers.fold(2), [85.0, 170.0, 85.0, 170.0, 85.0, 170.0, 85.0, 170.0]);
        same(powers.fold(1), [255.0; 8]);
        assert!(of(x).any() && !X::zero().any());
        assert!(X::splat(number(f64::NAN)).exp().array()[3].to_f64().is_nan());
        assert!(X::splat(number(f64::NAN)).any());
        same(X::splat(X::Item::NEG_INFINITY).exp(), [0.0; 8]);
        same(X::splat(number(-1000.0)).exp(), [0.0; 8]);
    }

    fn check_pair<X: Pair>() {
        let of = |start: f64| [0, 1].map(|k| std::array::from_fn(|l| X::Item::from_f64(start + (8 * k + l) as f64)));
        let [a, b, c] = [0.5, 3.0, -4.0].map(|start| X::load(&of(start)));
        assert_eq!(a.arrays(), of(0.5));
        assert_eq!(a.add(X::splat(X::Item::from_f64(2.0))).arrays(), of(2.5));
        let found = a.mul_add(b, c).arrays();
        for (l, found) in found.as_flattened().iter().enumerate() {
            assert_eq!(found.to_f64(), (0.5 + l as f64) * (3.0 + l as f64) + (l as f64 - 4.0));
        }
        // Every operation gives the bits of that on single vectors.
        let [[low, high], [x, y]] = [c.halves(), b.halves()];
        let parts = |low: X::Half, high: X::Half| [low.array(), high.array()];
        assert_eq!(X::join(low, high).arrays(), c.arrays());
        assert_eq!(X::both(low).arrays(), parts(low, low));
        assert_eq!(c.sum().array(), low.add(high).array());
        assert_eq!(X::sum_each(c, b).arrays(), parts(low.add(high), x.add(y)));
        // Around the limits of the exponential in single precision.
        let limits = [-1e30, -87.5, -87.0, -86.5, 87.5, 88.0, 88.5, 1e30].map(X::Item::from_f64);
        let limits = X::Half::load(&limits);
        assert_eq!(X::both(limits).exp().arrays(), [limits.exp().array(); 2]);
        for heads in [1, 2, 4, 8] {
            assert_eq!(b.exp().fold(heads).arrays(), parts(x.exp().fold(heads), y.exp().fold(heads)));
        }
        let vectors: [_; 16] =
            std::array::from_fn(|k| b.mul(X::splat(X::Item::from_f64(0.1 * k as f64))).exp().arrays()[k % 2]);
        for (sum, vector) in X::sums(&vectors).arrays().as_flattened().iter().zip(&vectors) {
            assert_eq!(*sum, X::Half::load(vector).fold(1).array()[0]);
        }
        assert_eq!(c.sub(b).arrays(), parts(low.sub(x), high.sub(y)));
        assert_eq!(c.mul(b).arrays(), parts(low.mul(x), high.mul(y)));
        assert_eq!(c.div(b).arrays(), parts(low.div(x), high.div(y)));
        assert_eq!(c.max(b).arrays(), parts(low.max(x), high.max(y)));
        assert_eq!(c.exp().arrays(), parts(low.exp(), high.exp()));
        assert_eq!(c.if_positive(b, c).arrays(), parts(low.if_positive(x, low), high.if_positive(y, high)));
        let value = X::Item::from_f64(1.5);
        let bits = [0b1000_0101, 0b0111_0000];
        assert_eq!(X::from_bits(bits, value).arrays(), bits.map(|bits| X::Half::from_bits(bits, value).array()));
        let least = X::splat(X::Item::NEG_INFINITY).exp();
        assert!(!least.halves()[1].any(), "exp of minus infinity");
        assert!(X::splat(X::Item::from_f64(f64::NAN)).exp().arrays()[1][3].to_f64().is_nan());
    }

    struct Check;

    impl Kernel for Check {
        type Number = f32;
        type Output = ();
        const USES_AVX512: bool = true;
        #[inline(always)]
        fn run<I: Isa>(self) {
            check::<I::F32>();
            check::<I::F64>();
            check_pair::<I::F32Pair>();
            check_pair::<[I::F64; 2]>();
            let rows = [[1.0f64; 8], [2.0; 8], [3.0; 8]];
            assert_eq!(dot::<f64, I>(&rows, &rows).array(), [14.0; 8]);
            assert_eq!(I::deposit(0b1_0110, 0b1100_0101_0010), 0b1000_0101_0000);
            assert_eq!((I::deposit(u64::MAX, 1 << 63), I::deposit(u64::MAX, 0)), (1 << 63, 0));
        }
    }

    #[test]
    fn instruction_sets_are_requested_by_name() {
        assert_eq!(Simd::named("portable", Simd::Portable), Ok(Simd::Portable));
        assert_eq!(Simd::named("avx2", Simd::Avx512), Ok(Simd::Avx2));
        let refused = |name, best| Simd::named(name, best).unwrap_err().to_string();
        let unknown = "SUPERGAT_SIMD = bogus: must be one of portable, avx2, avx512";
        assert_eq!(refused("bogus", Simd::Avx512), unknown);
        let unsupported = "SUPERGAT_SIMD = avx512: this processor supports portable, avx2 only";
        assert_eq!(refused("avx512", Simd::Avx2), unsupported);
    }

    #[test]
    fn vectors_agree_with_scalar_arithmetic() {
        dispatch(Check);
        Check.run::<Portable>();
    }
}
