//! Pictures of an outcome: a page to look around in, and a drawing for documents.
//!
//! Both show the same: nodes as rows of GPU cells before and after the run, coloured by job or by class, beside a bar of
//! the cpu that pods without GPUs request; pending pods with their reasons; and the figures that clusters are judged by.
//! A colour never stands alone: each job has a letter and a pattern too.
//!
//! [`model`] says what there is to see, [`svg`] and [`html`] draw it. Everything that comes from the outcome is escaped:
//! names come from other people's clusters.

mod figures;
mod group;
mod html;
mod model;
mod page_data;
mod svg;
mod text;

use crate::trial::Outcome;

use self::model::Picture;

/// What the colours tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Colours {
    /// The job: a gang, or what a controller makes pods for.
    Job,
    /// The QoS class.
    Class,
}

/// A drawing of the outcome (SVG).
///
/// # Errors
/// When the outcome does not say which pods are on the nodes.
pub fn svg(outcome: &Outcome, by: Colours) -> anyhow::Result<String> {
    Ok(svg::draw(&Picture::of(outcome)?, by))
}

/// A page of the outcome (HTML) that needs no other file and is smaller than 2 MB.
///
/// # Errors
/// When the outcome does not say which pods are on the nodes.
pub fn html(outcome: &Outcome) -> anyhow::Result<String> {
    Ok(html::page(&Picture::of(outcome)?))
}
