//! Packing: place a pod where typical pods lose the least room.
//!
//! A GPU is stranded when what is left beside it (cpu, memory, other devices of the node, the rest of the device) is of
//! no use to the pods that will come. So the policy learns the shapes of the pods that arrive ([`workload`]), knows for
//! every node how much of its GPUs each shape could use ([`usable`]), and asks of a placement how much of that it
//! destroys beyond what the pod itself takes: its *regret*, in GPU-milli. Shapes that are running out in the cluster weigh
//! more.
//!
//! Filling the fullest node instead, as bin-packing does, strands about twice as much on a production trace, because
//! the fullest node may be the one whose rest fits the next pod exactly. Minimising fragmentation by the gradient of
//! expected waste (FGD, USENIX ATC'23) comes close only where equal scores are broken in a fixed order, which no
//! kube-scheduler does: differences of a few GPU-milli must therefore show in the integer score.
//!
//! Room is counted in whole millionths of a GPU, so that sums over nodes depend neither on the order of the nodes nor on
//! the order in which they changed.

mod holes;
mod node;
mod scorer;
mod shape;
#[cfg(test)]
mod tests;
mod usable;
mod view;
mod workload;

pub use node::{Free, NodeCapacity, Pool};
pub use scorer::{Explanation, Packing, score};
pub use shape::{DEVICE, Kind, Model, Models, NodeModels, PodShape};
