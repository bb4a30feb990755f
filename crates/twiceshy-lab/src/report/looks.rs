//! How lines look: each combines a colour, a dash and a marker, so that lines stay distinguishable in grey.

/// A colour by red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// The SVG notation.
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// The shape at a measured point. A hollow triangle pointing down is not among them: it marks a zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are clear")]
pub enum Marker {
    Disc,
    Square,
    Triangle,
    Diamond,
    Ring,
    HollowSquare,
    HollowTriangle,
    HollowDiamond,
    Plus,
    Cross,
    Star,
    Right,
    Left,
    Hourglass,
}

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Look {
    /// Its colour.
    pub colour: Colour,
    /// Alternating lengths of dashes and gaps; empty for a solid line.
    pub dash: &'static [u8],
    /// The shape at its points.
    pub marker: Marker,
}

/// The look with an index; indices wrap around after the last.
pub fn look(index: usize) -> Look {
    LOOKS[index % LOOKS.len()]
}

const BLUE: Colour = Colour(0x1f, 0x77, 0xc0);
const VERMILION: Colour = Colour(0xd5, 0x5e, 0x00);
const GREEN: Colour = Colour(0x00, 0x93, 0x6b);
const PURPLE: Colour = Colour(0xb8, 0x5c, 0x9e);
const OCHRE: Colour = Colour(0xa8, 0x7b, 0x00);
const GREY: Colour = Colour(0x7a, 0x7f, 0x87);
const VIOLET: Colour = Colour(0x7d, 0x63, 0xd8);

/// Seven colours after Okabe and Ito, made darker or lighter until they are visible on a white and on a nearly black
/// page. Every look has its own dash and marker, so looks may share a colour.
const LOOKS: [Look; 14] = [
    Look { colour: BLUE, dash: &[], marker: Marker::Disc },
    Look { colour: VERMILION, dash: &[7, 3], marker: Marker::Square },
    Look { colour: GREEN, dash: &[2, 2], marker: Marker::Triangle },
    Look { colour: PURPLE, dash: &[10, 3, 2, 3], marker: Marker::Diamond },
    Look { colour: OCHRE, dash: &[14, 4], marker: Marker::Ring },
    Look { colour: GREY, dash: &[4, 2], marker: Marker::HollowSquare },
    Look { colour: VIOLET, dash: &[8, 2, 2, 2, 2, 2], marker: Marker::HollowTriangle },
    Look { colour: BLUE, dash: &[2, 5], marker: Marker::HollowDiamond },
    Look { colour: VERMILION, dash: &[16, 3, 3, 3], marker: Marker::Plus },
    Look { colour: GREEN, dash: &[9, 6], marker: Marker::Cross },
    Look { colour: PURPLE, dash: &[4, 5], marker: Marker::Star },
    Look { colour: OCHRE, dash: &[5, 2, 1, 2], marker: Marker::Right },
    Look { colour: GREY, dash: &[18, 2], marker: Marker::Left },
    Look { colour: VIOLET, dash: &[10, 2, 5, 2], marker: Marker::Hourglass },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The contrast of two colours as the Web Content Accessibility Guidelines define it.
    fn contrast(a: Colour, b: Colour) -> f64 {
        let light = |Colour(r, g, b): Colour| {
            let linear = |channel: u8| match f64::from(channel) / 255.0 {
                c if c <= 0.04045 => c / 12.92,
                c => ((c + 0.055) / 1.055).powf(2.4),
            };
            0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
        };
        let (a, b) = (light(a) + 0.05, light(b) + 0.05);
        a.max(b) / a.min(b)
    }

    #[test]
    fn every_colour_is_visible_on_a_white_and_on_a_dark_page() {
        assert!((contrast(Colour(0, 0, 0), Colour(255, 255, 255)) - 21.0).abs() < 1e-9);
        for page in [Colour(0xff, 0xff, 0xff), Colour(0x15, 0x18, 0x1d)] {
            for look in LOOKS {
                let contrast = contrast(look.colour, page);
                assert!(contrast >= 3.0, "{} on {}: {contrast:.2}", look.colour.hex(), page.hex());
            }
        }
    }

    #[test]
    fn no_two_looks_share_a_dash_or_a_marker() {
        assert_eq!(LOOKS.map(|look| look.dash).into_iter().collect::<HashSet<_>>().len(), LOOKS.len());
        assert_eq!(LOOKS.map(|look| look.marker).into_iter().collect::<HashSet<_>>().len(), LOOKS.len());
    }

    #[test]
    fn indices_beyond_the_last_look_wrap_around() {
        assert_eq!(look(LOOKS.len() + 3), look(3));
        assert_ne!(look(3), look(4));
    }
}
