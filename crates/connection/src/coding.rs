//! Which coding of a response a client prefers, from its `Accept-Encoding`.
//!
//! It compresses nothing.

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Not at all.
    Identity,
    /// As `gzip`.
    Gzip,
    /// As `deflate`, in the zlib format.
    Deflate,
}

/// The coding with the highest quality, the first of equals, except that a name precedes `*`; none if no
/// known coding is named. Observed: `*` means gzip, or deflate if gzip is named too; `identity` is ignored;
/// of a coding named twice the better entry counts.
pub fn preferred_coding(accepted: &str) -> Coding {
    let entries: Vec<(&str, Option<&str>)> = accepted.split(',').map(entry).collect();
    let named = |name: &str| entries.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let for_any = if named("gzip") { Coding::Deflate } else { Coding::Gzip };
    let coding = |name: &str| match name {
        "*" => Some(for_any),
        _ if name.eq_ignore_ascii_case("gzip") => Some(Coding::Gzip),
        _ if name.eq_ignore_ascii_case("deflate") => Some(Coding::Deflate),
        _ => None,
    };
    let offers = entries.iter().filter_map(|(name, text)| {
        let coding = coding(name)?;
        Some((coding, *name == "*", text.map_or(QUALITY_MAX, quality)))
    });
    let mut best = (Coding::Identity, 0, false);
    for (coding, any, quality) in offers {
        if quality > best.1 || (quality == best.1 && quality > 0 && best.2 && !any) {
            best = (coding, quality, any);
        }
    }
    best.0
}

/// Whether a client that sends this `Accept-Encoding` prefers gzip.
pub fn prefers_gzip(accepted: &str) -> bool {
    matches!(preferred_coding(accepted), Coding::Gzip)
}

/// Whether a client takes Brotli, with any quality above zero. Browsers offer it over TLS and on loopback.
pub fn accepts_brotli(accepted: &str) -> bool {
    let taken =
        |(name, text): (&str, Option<&str>)| name == "br" && text.is_none_or(|text| quality(text) > 0);
    accepted.split(',').map(entry).any(taken)
}

/// One entry of the list: its name and the text of its quality. Observed: `q=` may end a longer name.
fn entry(text: &str) -> (&str, Option<&str>) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    (name, parts.find_map(|parameter| parameter.split_once("q=")).map(|(_, text)| text))
}

/// The highest quality, 1.
const QUALITY_MAX: u16 = 10_000;

/// A quality value (`0.25`) in ten-thousandths. Observed: a text that is not a number, or a number above 1,
/// counts as 1; a negative number counts as 0.
fn quality(text: &str) -> u16 {
    let Ok(value) = text.trim().parse::<f64>() else { return QUALITY_MAX };
    // Binary search for the largest number of steps that is not above the value.
    let (mut least, mut most) = (0, QUALITY_MAX);
    while least < most {
        let middle = (least + most).div_ceil(2);
        if f64::from(middle) <= value * f64::from(QUALITY_MAX) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    if least == 0 { u16::from(value > 0.0) } else { least }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_accepted_coding_wins() {
        for (accepted, coding) in [
            ("", Coding::Identity),
            ("identity", Coding::Identity),
            ("GZIP", Coding::Gzip),
            ("deflate, gzip", Coding::Deflate),
            ("deflate;q=0.5, gzip;q=0.8", Coding::Gzip),
            ("gzip;q=0, deflate", Coding::Deflate),
            ("br, *", Coding::Gzip),
            ("*, deflate;q=0.5", Coding::Gzip),
            ("*, deflate", Coding::Deflate),
            ("*, gzip;q=0.5", Coding::Deflate),
            ("*;q=0.5,identity", Coding::Gzip),
            ("gzip;q=0.5,identity;q=0.8", Coding::Gzip),
            ("identity;q=0", Coding::Identity),
            ("br, gzip;q=0, deflate; q = 0.5 , identity;q=0", Coding::Deflate),
            ("deflate;q=0.5, gzip;q=31", Coding::Gzip),
            ("deflate;q=0.5, gzip;q=1;q=0.2", Coding::Gzip),
            ("deflate;q=0.5,gzip;q=0.", Coding::Deflate),
            ("deflate;q=0.5,gzip;q=0.x", Coding::Gzip),
            ("deflate;q=-0.5,gzip;q=0.2", Coding::Gzip),
            ("gzip;q= 0;q=1", Coding::Identity),
            ("gzip;q =0;q=1", Coding::Gzip),
            ("gzip;nq=0;q=1", Coding::Identity),
            ("gzip;q=0, gzip;q=1, gzip;q=0", Coding::Gzip),
            ("gzip;q=0.00001", Coding::Gzip),
            ("gzip:q=1", Coding::Identity),
            ("x-gzip, br, zstd", Coding::Identity),
        ] {
            assert_eq!(preferred_coding(accepted), coding, "{accepted}");
        }
    }
}
