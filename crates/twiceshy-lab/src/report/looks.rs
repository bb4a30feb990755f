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
    Pentagon,
    HollowPentagon,
    Bar,
    Down,
    HollowHourglass,
    Dash,
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

/// Twenty colours that are visible on a white and on a nearly black page, chosen to be as far apart as that leaves room
/// for: 19 by CIEDE2000. Every look also has its own dash and marker, for readers who see colours differently, and for
/// print in grey.
const LOOKS: [Look; 20] = [
    Look { colour: Colour(0x46, 0x50, 0xf0), dash: &[], marker: Marker::Disc },
    Look { colour: Colour(0xe6, 0x6e, 0x00), dash: &[7, 3], marker: Marker::Square },
    Look { colour: Colour(0x28, 0xaa, 0x00), dash: &[2, 2], marker: Marker::Triangle },
    Look { colour: Colour(0x96, 0x46, 0x96), dash: &[10, 3, 2, 3], marker: Marker::Diamond },
    Look { colour: Colour(0xc8, 0x0a, 0x50), dash: &[14, 4], marker: Marker::Ring },
    Look { colour: Colour(0x00, 0x96, 0xd2), dash: &[4, 2], marker: Marker::HollowSquare },
    Look { colour: Colour(0x6e, 0x64, 0x6e), dash: &[8, 2, 2, 2, 2, 2], marker: Marker::HollowTriangle },
    Look { colour: Colour(0xf0, 0x14, 0xfa), dash: &[2, 5], marker: Marker::HollowDiamond },
    Look { colour: Colour(0x8c, 0x5a, 0x28), dash: &[16, 3, 3, 3], marker: Marker::Plus },
    Look { colour: Colour(0x00, 0x78, 0x3c), dash: &[9, 6], marker: Marker::Cross },
    Look { colour: Colour(0x8c, 0x96, 0x82), dash: &[4, 5], marker: Marker::Star },
    Look { colour: Colour(0xaa, 0x8c, 0x78), dash: &[5, 2, 1, 2], marker: Marker::Right },
    Look { colour: Colour(0xfa, 0x5a, 0x5a), dash: &[18, 2], marker: Marker::Left },
    Look { colour: Colour(0x50, 0x6e, 0x6e), dash: &[10, 2, 5, 2], marker: Marker::Hourglass },
    Look { colour: Colour(0xc8, 0x1e, 0x00), dash: &[6, 1], marker: Marker::Pentagon },
    Look { colour: Colour(0x8c, 0x8c, 0xd2), dash: &[12, 2, 2, 2], marker: Marker::HollowPentagon },
    Look { colour: Colour(0xb4, 0x8c, 0x00), dash: &[3, 1, 1, 1], marker: Marker::Bar },
    Look { colour: Colour(0xc8, 0x78, 0xa0), dash: &[6, 4, 2, 4], marker: Marker::Down },
    Look { colour: Colour(0x00, 0xa0, 0xa0), dash: &[20, 5], marker: Marker::HollowHourglass },
    Look { colour: Colour(0x6e, 0x6e, 0x1e), dash: &[1, 3], marker: Marker::Dash },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A channel as an amount of light.
    fn linear(channel: u8) -> f64 {
        match f64::from(channel) / 255.0 {
            c if c <= 0.04045 => c / 12.92,
            c => ((c + 0.055) / 1.055).powf(2.4),
        }
    }

    /// The contrast of two colours as the Web Content Accessibility Guidelines define it.
    fn contrast(a: Colour, b: Colour) -> f64 {
        let light = |Colour(r, g, b): Colour| 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
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

    /// A colour in CIE Lab, white point D65.
    fn lab(Colour(r, g, b): Colour) -> [f64; 3] {
        let [r, g, b] = [r, g, b].map(linear);
        let x = (0.412_456 * r + 0.357_576 * g + 0.180_438 * b) / 0.950_47;
        let y = 0.212_673 * r + 0.715_152 * g + 0.072_175 * b;
        let z = (0.019_334 * r + 0.119_192 * g + 0.950_304 * b) / 1.088_83;
        let [x, y, z] = [x, y, z].map(|t| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// How far apart two colours look: CIEDE2000 (CIE 142-2001). About 2 is just noticeable side by side.
    fn distance(one: [f64; 3], other: [f64; 3]) -> f64 {
        let sin = |degrees: f64| degrees.to_radians().sin();
        let cos = |degrees: f64| degrees.to_radians().cos();
        let heavy = |chroma: f64| (chroma.powi(7) / (chroma.powi(7) + 25f64.powi(7))).sqrt();
        let grey = 0.5 * (1.0 - heavy(f64::midpoint(one[1].hypot(one[2]), other[1].hypot(other[2]))));
        let polar = |[light, a, b]: [f64; 3]| {
            let a = a * (1.0 + grey);
            (light, a.hypot(b), b.atan2(a).to_degrees().rem_euclid(360.0))
        };
        let ((l1, c1, h1), (l2, c2, h2)) = (polar(one), polar(other));
        let turn = match (c1 * c2, h2 - h1) {
            (0.0, _) => 0.0,
            (_, turn) if turn > 180.0 => turn - 360.0,
            (_, turn) if turn < -180.0 => turn + 360.0,
            (_, turn) => turn,
        };
        let (light, chroma, hue) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2), h1 + turn / 2.0);
        let weight = 1.0 - 0.17 * cos(hue - 30.0) + 0.24 * cos(2.0 * hue) + 0.32 * cos(3.0 * hue + 6.0)
            - 0.2 * cos(4.0 * hue - 63.0);
        let off = (light - 50.0).powi(2);
        let by_light = (l2 - l1) / (1.0 + 0.015 * off / (20.0 + off).sqrt());
        let by_chroma = (c2 - c1) / (1.0 + 0.045 * chroma);
        let by_hue = 2.0 * (c1 * c2).sqrt() * sin(turn / 2.0) / (1.0 + 0.015 * chroma * weight);
        let blue = -2.0 * heavy(chroma) * sin(60.0 * (-((hue.rem_euclid(360.0) - 275.0) / 25.0).powi(2)).exp());
        (by_light.powi(2) + by_chroma.powi(2) + by_hue.powi(2) + blue * by_chroma * by_hue).sqrt()
    }

    #[test]
    fn distances_are_those_of_the_published_test_pairs() {
        // G. Sharma, W. Wu, E. N. Dalal, 2005: pairs 1, 5, 17, 25 and 31.
        for (one, other, published) in [
            ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
            ([50.0, -1.1848, -84.8006], [50.0, 0.0, -82.7485], 1.0000),
            ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
            ([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644),
            ([90.8027, -2.0831, 1.441], [91.1528, -1.6435, 0.0447], 1.4441),
        ] {
            let found = distance(one, other);
            assert!((found - published).abs() < 2e-4, "{one:?} {other:?}: {found}, not {published}");
        }
    }

    #[test]
    fn no_two_colours_look_alike() {
        for (i, one) in LOOKS.iter().enumerate() {
            for other in &LOOKS[i + 1..] {
                let apart = distance(lab(one.colour), lab(other.colour));
                assert!(apart >= 18.0, "{} and {}: {apart:.1}", one.colour.hex(), other.colour.hex());
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
