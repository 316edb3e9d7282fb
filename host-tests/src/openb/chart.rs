//! A line chart as SVG: GPUs allocated over GPUs arrived.

use std::fmt::Write;

/// One line of the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Arrived and allocated, in percent, by arrived.
    pub points: Vec<(f64, f64)>,
}

const SIZE: (f64, f64) = (820.0, 480.0);
/// Left, top, right, bottom.
const MARGIN: (f64, f64, f64, f64) = (56.0, 20.0, 190.0, 44.0);
/// Told apart by colour-blind readers (Okabe and Ito), then dashed.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// Where the drawing starts: below this, every policy places everything.
const FROM: f64 = 75.0;

/// Draws `lines`.
#[must_use]
pub fn svg(lines: &[Line]) -> String {
    let shown = || lines.iter().flat_map(|line| &line.points).filter(|(arrived, _)| *arrived >= FROM);
    let right = shown().map(|point| point.0).fold(FROM + 1.0, f64::max);
    let lowest = shown().map(|point| point.1).fold(100.0, f64::min);
    let bottom = (lowest / 5.0).floor() * 5.0;
    let x = |arrived: f64| MARGIN.0 + (arrived - FROM) / (right - FROM) * (SIZE.0 - MARGIN.0 - MARGIN.2);
    let y =
        |share: f64| SIZE.1 - MARGIN.3 - (share - bottom) / (100.0 - bottom).max(1.0) * (SIZE.1 - MARGIN.1 - MARGIN.3);

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        SIZE.0, SIZE.1
    );
    let mut draw = |element: std::fmt::Arguments| {
        // Writing into a String does not fail.
        let _ = writeln!(out, "{element}");
    };
    let mut share = bottom;
    while share <= 100.0 {
        let (left, end, at) = (x(FROM), x(right), y(share));
        draw(format_args!("<path d=\"M{left:.1} {at:.1}H{end:.1}\" stroke=\"#ddd\"/>"));
        draw(format_args!("<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{share}</text>", left - 6.0, at + 4.0));
        share += 5.0;
    }
    let mut arrived = FROM;
    while arrived <= right {
        let (at, base) = (x(arrived), SIZE.1 - MARGIN.3);
        draw(format_args!("<path d=\"M{at:.1} {base}v4\" stroke=\"#888\"/>"));
        draw(format_args!("<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{arrived}</text>", base + 17.0));
        arrived += 5.0;
    }
    let middle = (x(FROM) + x(right)) / 2.0;
    draw(format_args!(
        "<text x=\"{middle:.1}\" y=\"{}\" text-anchor=\"middle\">GPUs arrived as demand, % of the cluster</text>",
        SIZE.1 - 8.0
    ));
    let centre = (y(bottom) + y(100.0)) / 2.0;
    draw(format_args!(
        "<text transform=\"translate(16 {centre:.1}) rotate(-90)\" text-anchor=\"middle\">GPUs allocated, %</text>"
    ));
    for (index, line) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let dash = if index < COLOURS.len() { "" } else { " stroke-dasharray=\"5 3\"" };
        let mut path = String::new();
        for (arrived, share) in line.points.iter().filter(|(arrived, _)| *arrived >= FROM) {
            let _ = write!(path, "{}{:.1} {:.1}", if path.is_empty() { 'M' } else { 'L' }, x(*arrived), y(*share));
        }
        draw(format_args!("<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dash}/>"));
        let (at, key) = (MARGIN.1 + 14.0 + 20.0 * index as f64, x(right) + 14.0);
        draw(format_args!("<path d=\"M{key:.1} {:.1}h22\" stroke=\"{colour}\" stroke-width=\"1.8\"{dash}/>", at - 4.0));
        let last = line.points.last().map_or(0.0, |point| point.1);
        draw(format_args!("<text x=\"{:.1}\" y=\"{at:.1}\">{} {last:.1}</text>", key + 28.0, escape(&line.name)));
    }
    out + "</svg>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_drawn_and_named() {
        let line = |name: &str| Line { name: name.into(), points: vec![(10.0, 10.0), (80.0, 80.0), (100.0, 92.0)] };
        let svg = svg(&[line("a<b"), line("c")]);
        assert_eq!(svg.matches("stroke-width=\"1.8\"").count(), 4);
        assert!(svg.contains(">a&lt;b 92.0<") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn nothing_to_draw_is_a_frame() {
        assert!(svg(&[]).contains("GPUs allocated"));
    }
}
