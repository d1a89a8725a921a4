//! The result of a bench, as a line of the report.

use std::fmt;

/// One line of the report.
pub(crate) enum ReportLine {
    /// A bar, held or missed.
    Bar {
        /// The measured thing.
        name: &'static str,
        /// Our figure.
        ours: String,
        /// The figure it is held against.
        theirs: String,
        /// The figure that is compared with the bar.
        figure: f64,
        /// The unit of figure and bar.
        unit: &'static str,
        /// The bar.
        limit: BarLimit,
    },
    /// A figure for orientation: it depends on the machine, and nothing is asked of it.
    Orientation {
        /// The measured thing.
        name: &'static str,
        /// The figure with its unit.
        figure: String,
    },
    /// A bar for which something is missing on this machine.
    NotMeasured {
        /// The thing to measure.
        name: &'static str,
        /// The missing program, and how to get it.
        why: String,
    },
}

/// Which side of the bar is good.
#[derive(Clone, Copy)]
pub(crate) enum BarLimit {
    /// The figure is this or more.
    AtLeast(f64),
    /// The figure is this or less.
    AtMost(f64),
}

/// A ratio.
pub(crate) const TIMES: &str = "x";
/// A difference in time.
pub(crate) const MILLISECONDS: &str = " ms";
/// A throughput.
pub(crate) const MEGABYTES_A_SECOND: &str = " MB/s";
/// A time.
pub(crate) const MICROSECONDS: &str = " us";

impl ReportLine {
    /// Whether nothing is missed.
    pub(crate) fn holds(&self) -> bool {
        match self {
            Self::Bar { figure, limit: BarLimit::AtLeast(bar), .. } => figure >= bar,
            Self::Bar { figure, limit: BarLimit::AtMost(bar), .. } => figure <= bar,
            Self::Orientation { .. } | Self::NotMeasured { .. } => true,
        }
    }
}

/// The names of the columns.
pub(crate) fn print_header() {
    println!("{:<34} {:>14} {:>26} {:>10} {:>11}", "name", "ours", "theirs", "ratio", "bar");
}

impl fmt::Display for ReportLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bar { name, ours, theirs, figure, unit, limit } => {
                let bar = match limit {
                    BarLimit::AtLeast(bar) => format!(">= {bar}{unit}"),
                    BarLimit::AtMost(bar) => format!("<= {bar}{unit}"),
                };
                let word = if self.holds() { "holds" } else { "MISSED" };
                write!(f, "{name:<34} {ours:>14} {theirs:>26} {:>10} {bar:>11}  {word}", format!("{figure:.2}{unit}"))
            }
            Self::Orientation { name, figure } => write!(f, "  {name:<32} {figure:>14}"),
            Self::NotMeasured { name, why } => write!(f, "{name:<34} not measured: {why}"),
        }
    }
}

/// A time in nanoseconds as text.
pub(crate) fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e3 => format!("{nanoseconds:.0} ns"),
        1e3..1e6 => format!("{:.1} us", nanoseconds / 1e3),
        _ => format!("{:.2} ms", nanoseconds / 1e6),
    }
}

/// Throughput of `bytes` in so many nanoseconds.
pub(crate) fn throughput(bytes: usize, nanoseconds: f64) -> String {
    format!("{:.0} MB/s", count(bytes) / nanoseconds * 1e3)
}

/// An amount of memory as text.
pub(crate) fn megabytes(bytes: usize) -> String {
    format!("{:.1} MB", count(bytes) / 1e6)
}

/// A count for divisions.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(crate) fn count(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(figure: f64, limit: BarLimit) -> ReportLine {
        ReportLine::Bar { name: "a", ours: time(1.0), theirs: time(2e3), figure, unit: TIMES, limit }
    }

    #[test]
    fn a_missed_bar_is_said() {
        assert!(bar(3.0, BarLimit::AtMost(3.0)).holds() && bar(3.0, BarLimit::AtLeast(3.0)).holds());
        assert!(!bar(3.1, BarLimit::AtMost(3.0)).holds() && !bar(2.9, BarLimit::AtLeast(3.0)).holds());
        assert!(bar(2.9, BarLimit::AtLeast(3.0)).to_string().ends_with(">= 3x  MISSED"));
        assert!(!bar(f64::NAN, BarLimit::AtLeast(3.0)).holds(), "what could not be measured does not hold");
    }
}
