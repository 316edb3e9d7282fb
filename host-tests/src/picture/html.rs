//! The page: figures, pending pods and legends as HTML, the nodes drawn by a script from data in the page.
//!
//! Rows of a thousand nodes as HTML would be several megabytes; as data they are a tenth of it, and filtering and grouping
//! need the data anyway. The page asks for nothing else: no font, no library, no network, and its policy forbids it.

use std::fmt::Write as _;

use super::group::{COLOURS, Group, PATTERNS};
use super::model::Picture;
use super::page_data::{MOST_WAITING, page_data};
use super::svg::headline;
use super::text::{Escaped, counted, in_script};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Entries of a legend, names in a row of pending pods.
const MOST_GROUPS: usize = 40;
const MOST_NAMES: usize = 3;

/// Draws a picture.
pub fn page(picture: &Picture<'_>) -> String {
    let data = page_data(picture);
    let title = headline(picture);
    let left_out = if data.left_out.is_empty() {
        String::new()
    } else {
        format!("<p class=\"note\">Left out to keep the page small: {}.</p>\n", Escaped(&data.left_out.join("; ")))
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Stowage: {title}</title>\n<style>\n{STYLE}{fills}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n</header>\n<main>\n\
         {figures}{waiting}<section aria-labelledby=\"nodes-title\">\n<h2 id=\"nodes-title\">Nodes</h2>\n{left_out}{CONTROLS}\
         {jobs}{classes}{MARKS}</section>\n</main>\n{DETAIL}\
         <script type=\"application/json\" id=\"data\">{json}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        title = Escaped(&title),
        fills = fills(),
        figures = figures(picture),
        waiting = waiting(picture),
        jobs = legend("job", &picture.jobs),
        classes = legend("class", &picture.classes),
        json = in_script(&data.json),
    )
}

const CONTROLS: &str = "<form id=\"controls\">
<fieldset><legend>Colour by</legend>
<label><input type=\"radio\" name=\"by\" value=\"job\" checked> job</label>
<label><input type=\"radio\" name=\"by\" value=\"class\"> class</label>
</fieldset>
<label>Filter <input type=\"search\" id=\"filter\" placeholder=\"node, pod or job\" autocomplete=\"off\"></label>
<label><input type=\"checkbox\" id=\"changed\"> only nodes that changed</label>
<label><input type=\"checkbox\" id=\"grouped\"> identical nodes as one</label>
<output id=\"shown\" for=\"filter changed grouped\"></output>
</form>
";

const MARKS: &str = "<p class=\"note marks\"><span class=\"pod placed\">A</span> placed by this run \
<span class=\"pod\">A</span> there before <span class=\"pod left\">A</span> had to leave \
<span class=\"gpu\"></span> free GPU. Left of the arrow before, right of it after; the bar is cpu (grey: of pods with GPUs). \
Arrow keys move between cells.</p>
<noscript><p>The rows are drawn by a script, which is off. <code>stowage render</code> draws an SVG, too.</p></noscript>
<div id=\"nodes\" role=\"grid\" aria-label=\"Nodes before and after\"></div>
";

const DETAIL: &str = "<aside id=\"detail\" aria-live=\"polite\" aria-label=\"Details\" hidden></aside>\n";

fn fills() -> String {
    COLOURS.iter().enumerate().fold(String::new(), |mut css, (at, colour)| {
        let _ = writeln!(css, ".c{at} {{ background-color: {colour} }}");
        css
    })
}

fn figures(picture: &Picture<'_>) -> String {
    let mut html = "<section aria-labelledby=\"figures-title\">\n<h2 id=\"figures-title\">Key figures</h2>\n<dl class=\"figures\">\n".to_owned();
    for figure in &picture.figures {
        let (value, note) = (Escaped(&figure.value), Escaped(&figure.note));
        let _ = writeln!(html, "<div><dt>{}</dt><dd>{value}</dd><dd class=\"note\">{note}</dd></div>", figure.label);
    }
    html + "</dl>\n</section>\n"
}

fn waiting(picture: &Picture<'_>) -> String {
    if picture.waiting.is_empty() {
        return String::new();
    }
    let mut html = "<section aria-labelledby=\"pending-title\">\n<h2 id=\"pending-title\">Pending pods</h2>\n<div class=\"wide\"><table id=\"pending\">\n<thead><tr><th scope=\"col\">Job<th scope=\"col\">Pods<th scope=\"col\">Reason</tr></thead>\n<tbody>\n".to_owned();
    for (at, group) in picture.waiting.iter().enumerate().take(MOST_WAITING) {
        let names: Vec<String> = group.pods.iter().take(MOST_NAMES).map(|pod| Escaped(&pod.pod).to_string()).collect();
        let more = match group.pods.len().checked_sub(MOST_NAMES + 1) {
            Some(more) => format!(" and {} more", more + 1),
            None => String::new(),
        };
        let _ = writeln!(
            html,
            "<tr><td>{}<td><button type=\"button\" data-waiting=\"{at}\">{}</button>{more}<td>{}</tr>",
            swatch(group.job, picture.jobs.get(group.job)),
            names.join(", "),
            Escaped(group.reason)
        );
    }
    html.push_str("</tbody>\n</table></div>\n");
    if let Some(more) = picture.waiting.len().checked_sub(MOST_WAITING + 1) {
        let _ = writeln!(html, "<p class=\"note\">and {} more reasons</p>", more + 1);
    }
    html + "</section>\n"
}

fn legend(by: &str, groups: &[Group]) -> String {
    let mut html = format!("<ul class=\"legend\" data-by=\"{by}\" aria-label=\"Legend\">\n");
    for (at, group) in groups.iter().enumerate().take(MOST_GROUPS) {
        let _ = writeln!(
            html,
            "<li>{} {} <span class=\"note\">{}</span></li>",
            swatch(at, Some(group)),
            Escaped(&group.name),
            counted(group.pods, "pod")
        );
    }
    if let Some(more) = groups.len().checked_sub(MOST_GROUPS + 1) {
        let _ = writeln!(html, "<li class=\"note\">and {} more</li>", more + 1);
    }
    html + "</ul>\n"
}

fn swatch(at: usize, group: Option<&Group>) -> String {
    let letter = group.map_or("", |group| &group.letter);
    format!("<span class=\"pod c{} p{}\">{}</span>", at % COLOURS.len(), at % PATTERNS, Escaped(letter))
}
