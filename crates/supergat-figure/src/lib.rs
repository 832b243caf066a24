//! Figures as SVG text and reports as self-contained HTML pages: no scripts, no fonts, no network.
//!
//! A [`Plot`] is a frame with two or three axes and marks; [`panels`] arranges several plots side by side; a
//! [`Page`] contains text, figures and tables. All follow the light or dark scheme of the browser, print in
//! the light scheme, and fit narrow screens. Equal input gives equal bytes. Numbers that are not finite are
//! not drawn.
//!
//! ```
//! use supergat_figure::{Axis, Page, Plot};
//! let svg = Plot::new("Cora", Axis::log("lambda_E"), Axis::linear("accuracy (%)"))
//!     .line("SuperGAT-MX", &[[0.1, 82.0], [1.0, 84.0], [10.0, 84.3]])
//!     .svg();
//! let page = Page::new("A study", "one figure").figure(&svg, "More is better.").html();
//! assert!(page.contains("<svg") && page.contains("More is better."));
//! ```

mod axis;
mod boxes;
mod density;
mod figure;
mod frame;
mod labels;
mod legend;
mod marks;
mod page;
mod pen;
mod plot;
mod quartiles;
pub mod sheet;
mod style;
mod text;

pub use axis::Axis;
pub use density::Density;
pub use figure::{panels, panels_with_shared_legend};
pub use page::{Page, Tone};
pub use plot::{Cell, Plot, Shaded};
pub use quartiles::Quartiles;
pub use sheet::Sheet;
pub use style::colour;
pub use text::escaped;
