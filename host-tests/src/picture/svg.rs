//! The drawing: one SVG, in the colours of the reader's light or dark mode where the viewer tells.

use std::fmt::Write as _;

use super::Colours;
use super::group::{COLOURS, Group, PATTERNS};
use super::model::{NodeView, Picture, PodView, cpu};
use super::text::{Escaped, counted, shortened};
use crate::trial::PodChange;

/// Side of a GPU's cell, and the distance from one to the next.
const CELL: usize = 16;
const STEP: usize = 19;
const ROW: usize = 22;
const LINE: usize = 18;
/// Room for a letter of the text, which is narrower than this on average.
const LETTER: usize = 7;
/// Length of the bar of cpu.
const BAR: usize = 72;
const MARGIN: usize = 16;
const NAMES: usize = 190;
/// Clusters of more nodes have identical ones drawn once.
const MOST_NODES: usize = 12;
/// Rows, jobs in the legend and lines of pending pods: what is more is counted.
const MOST_ROWS: usize = 400;
const MOST_JOBS: usize = 24;
const MOST_WAITING: usize = 20;

const STYLE: &str = "
text { font: 12px system-ui, sans-serif; fill: #1a1a1a }
.title { font-size: 17px; font-weight: 600 }
.note { fill: #595959 }
.page { fill: #ffffff }
.free { fill: none; stroke: #8a8f95 }
.rest { fill: #8a8f95 }
.pod rect { stroke: #1a1a1a; stroke-width: .5 }
.placed rect { stroke-width: 2 }
.left rect { stroke-width: 1.5; stroke-dasharray: 3 2 }
.pod text { fill: #000; font-weight: 700; font-size: 10px; text-anchor: middle }
@media (prefers-color-scheme: dark) {
  text { fill: #e8eaed }
  .note { fill: #a8b0b8 }
  .page { fill: #14171a }
  .pod rect { stroke: #e8eaed }
}
";

/// Strokes of the patterns over a cell of 6 by 6; the first is plain.
const STROKES: [&str; PATTERNS] = ["", "M0 6L6 0", "M0 3H6", "M0 0L6 6", "M3 0V6"];

/// Draws a picture.
pub fn draw(picture: &Picture<'_>, by: Colours) -> String {
    let most = picture.nodes.iter().map(|node| node.node.gpus).max().unwrap_or(0);
    let half = most * STEP + if most > 0 { 8 } else { 0 } + BAR;
    let before = MARGIN + NAMES;
    let after = before + half + 28;
    let mut canvas = Canvas { out: String::new(), y: 30, width: after + half, groups: groups(picture, by), by, most };
    canvas.text("title", MARGIN, &headline(picture));
    canvas.y += 8;
    for figure in &picture.figures {
        canvas.y += LINE;
        let note = if figure.note.is_empty() { String::new() } else { format!(" ({})", figure.note) };
        canvas.text("", MARGIN, &format!("{}: {}{note}", figure.label, figure.value));
    }
    canvas.y += 34;
    canvas.text("note", before, "before");
    canvas.text("note", after, "after");
    canvas.y += 8;
    canvas.rows(picture, before, after);
    canvas.legend();
    canvas.waiting(picture);
    let width = canvas.width + MARGIN;
    let height = canvas.y + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n\
         <style>{STYLE}{}</style>\n<defs>{}</defs>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
        Escaped(&headline(picture)),
        Escaped(&description(picture, by)),
        fills(),
        patterns(),
        canvas.out,
    )
}

/// What a picture is of.
pub fn headline(picture: &Picture<'_>) -> String {
    let takes = |node: &&NodeView<'_>| node.pods.iter().any(|pod| pod.pod.change == PodChange::Placed);
    format!(
        "{} placed on {} of {}, {} pending",
        counted(picture.placed, "pod"),
        picture.nodes.iter().filter(takes).count(),
        counted(picture.nodes.len(), "node"),
        picture.pending
    )
}

fn description(picture: &Picture<'_>, by: Colours) -> String {
    let by = if by == Colours::Job { "job" } else { "QoS class" };
    let figures: Vec<String> =
        picture.figures.iter().map(|figure| format!("{}: {}.", figure.label, figure.value)).collect();
    format!(
        "Each row is a node before and after the run: a cell for each GPU, then a bar of its cpu. Letters, colours and \
         patterns tell the {by}. A thick frame marks a pod that the run placed, a dashed one a pod that had to leave. {}",
        figures.join(" ")
    )
}

fn groups<'p>(picture: &'p Picture<'_>, by: Colours) -> &'p [Group] {
    if by == Colours::Job { &picture.jobs } else { &picture.classes }
}

fn fills() -> String {
    COLOURS.iter().enumerate().fold(String::new(), |mut css, (at, colour)| {
        let _ = writeln!(css, ".c{at} {{ fill: {colour} }}");
        css
    })
}

fn patterns() -> String {
    STROKES.iter().enumerate().skip(1).fold(String::new(), |mut defs, (at, path)| {
        let _ = write!(
            defs,
            "<pattern id=\"p{at}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
             <path d=\"{path}\" stroke=\"#000\" stroke-opacity=\".3\" stroke-width=\"1.5\"/></pattern>"
        );
        defs
    })
}

/// What is drawn so far, and how far down and right.
struct Canvas<'p> {
    out: String,
    y: usize,
    width: usize,
    groups: &'p [Group],
    by: Colours,
    /// GPUs of the node that has the most.
    most: usize,
}

/// A place in the drawing.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Canvas<'_> {
    fn text(&mut self, class: &str, x: usize, text: &str) {
        self.width = self.width.max(x + text.chars().count() * LETTER);
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = writeln!(self.out, "<text{class} x=\"{x}\" y=\"{}\">{}</text>", self.y, Escaped(text));
    }

    fn rows(&mut self, picture: &Picture<'_>, before: usize, after: usize) {
        let mut rows: Vec<(&NodeView<'_>, usize)> = Vec::new();
        let mut known = std::collections::HashMap::new();
        for node in &picture.nodes {
            let next = rows.len();
            let at = if picture.nodes.len() > MOST_NODES { *known.entry(node.kind).or_insert(next) } else { next };
            match rows.get_mut(at) {
                Some((_, count)) => *count += 1,
                None => rows.push((node, 1)),
            }
        }
        for (node, count) in rows.iter().take(MOST_ROWS) {
            let times = if *count > 1 { format!(" ×{count}") } else { String::new() };
            let closed = node.node.closed().map_or_else(String::new, |why| format!(" ({why})"));
            let name = shortened(&node.node.name, 27 - times.chars().count() - closed.len());
            self.y += ROW;
            self.text("", MARGIN, &format!("{name}{closed}{times}"));
            self.node(node, before, false);
            self.node(node, after, true);
        }
        if let Some(more) = rows.len().checked_sub(MOST_ROWS + 1) {
            self.y += ROW;
            self.text("note", MARGIN, &format!("and {} more", counted(more + 1, "kind of node")));
        }
    }

    fn node(&mut self, node: &NodeView<'_>, x: usize, after: bool) {
        let y = (self.y - 12) as f64;
        for device in 0..node.node.gpus {
            let place = Place { x: (x + device * STEP) as f64, y, width: CELL as f64, height: CELL as f64 };
            self.frame(place);
            let mut taken = 0.0;
            for pod in node.pods_at(after).filter(|pod| pod.pod.gpus.contains(&device)) {
                let share = pod.pod.gpu_milli.unwrap_or(1000) as f64 / 1000.0;
                let width = place.width * share;
                self.pod(pod, Place { x: place.x + taken, width, ..place });
                taken += width;
            }
        }
        let gap = if self.most > 0 { self.most * STEP + 8 } else { 0 };
        let bar = Place { x: (x + gap) as f64, y: y + 2.0, width: BAR as f64, height: CELL as f64 - 4.0 };
        self.frame(bar);
        let all: i64 = node.pods_at(after).map(|pod| cpu(pod.pod)).sum();
        let scale = bar.width / all.max(node.cpu()).max(1) as f64;
        let with_gpus: i64 = node.pods_at(after).filter(|pod| !pod.pod.gpus.is_empty()).map(|pod| cpu(pod.pod)).sum();
        let mut taken = with_gpus as f64 * scale;
        if with_gpus > 0 {
            self.rect("rest", Place { width: taken, ..bar });
        }
        for pod in node.pods_at(after).filter(|pod| pod.pod.gpus.is_empty()) {
            let width = cpu(pod.pod) as f64 * scale;
            self.pod(pod, Place { x: bar.x + taken, width, ..bar });
            taken += width;
        }
    }

    fn frame(&mut self, place: Place) {
        self.rect("free", place);
    }

    fn rect(&mut self, class: &str, Place { x, y, width, height }: Place) {
        let _ = writeln!(
            self.out,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        );
    }

    fn pod(&mut self, pod: &PodView<'_>, place: Place) {
        let group = if self.by == Colours::Job { pod.job } else { pod.class };
        let change = match pod.pod.change {
            PodChange::Stayed => "",
            PodChange::Placed => " placed",
            PodChange::Left => " left",
        };
        let _ = write!(self.out, "<g class=\"pod{change}\"><title>{}</title>", Escaped(&pod.pod.pod));
        self.swatch(group, place);
        self.out.push_str("</g>\n");
    }

    /// Colour, pattern and letter of a group.
    fn swatch(&mut self, group: usize, place: Place) {
        let Place { x, y, width, height } = place;
        let size = format!("x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"");
        let _ = write!(self.out, "<rect class=\"c{}\" {size}/>", group % COLOURS.len());
        if !group.is_multiple_of(PATTERNS) {
            let _ = write!(self.out, "<rect fill=\"url(#p{})\" {size}/>", group % PATTERNS);
        }
        let letter = self.groups.get(group).map_or("", |group| &group.letter);
        if width >= 7.0 * letter.len() as f64 {
            let _ = write!(
                self.out,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + width / 2.0,
                y + height / 2.0 + 3.5,
                Escaped(letter)
            );
        }
    }

    fn legend(&mut self) {
        self.y += 18;
        for (at, group) in self.groups.iter().enumerate().take(MOST_JOBS) {
            self.y += ROW;
            self.out.push_str("<g class=\"pod\">");
            let place = Place { x: MARGIN as f64, y: (self.y - 12) as f64, width: 22.0, height: CELL as f64 };
            self.swatch(at, place);
            self.out.push_str("</g>\n");
            let pods = counted(group.pods, "pod");
            self.text("", MARGIN + 30, &format!("{}: {pods}", shortened(&group.name, 70)));
        }
        if let Some(more) = self.groups.len().checked_sub(MOST_JOBS + 1) {
            self.y += ROW;
            self.text("note", MARGIN, &format!("and {} more", more + 1));
        }
    }

    fn waiting(&mut self, picture: &Picture<'_>) {
        if picture.waiting.is_empty() {
            return;
        }
        self.y += 34;
        self.text("title", MARGIN, "Pending");
        self.y += 4;
        for group in picture.waiting.iter().take(MOST_WAITING) {
            let first = group.pods.first().map_or("", |pod| &*pod.pod);
            let others =
                if group.pods.len() > 1 { format!(" and {} more", group.pods.len() - 1) } else { String::new() };
            self.y += LINE;
            self.text("", MARGIN, &format!("{}{others}", shortened(first, 60)));
            self.y += LINE;
            self.text("note", MARGIN + 14, &shortened(group.reason, 110));
        }
        if let Some(more) = picture.waiting.len().checked_sub(MOST_WAITING + 1) {
            self.y += LINE;
            self.text("note", MARGIN, &format!("and {} more", more + 1));
        }
    }
}
