//! Figures as SVG text and reports as HTML pages that need nothing else: no scripts, no fonts, no network.
//!
//! A [`Plot`] is a frame with two or three axes into which marks are put; [`panels`] sets several plots side by side; a [`Page`] holds
//! text, figures and tables. All follow the reader's light or dark scheme, print in the light one, and fit narrow screens. The same
//! input gives the same bytes. Numbers that are not finite are left out.
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
mod style;
mod text;

pub use axis::Axis;
pub use density::Density;
pub use figure::panels;
pub use page::{Page, Tone};
pub use plot::{Cell, Plot, Shaded};
pub use quartiles::Quartiles;
pub use style::colour;
pub use text::escaped;
