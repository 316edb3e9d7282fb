//! Reading all nodes at once.
//!
//! Costs the scheduler some microseconds per node, which no pod by itself is worth. A gang is: turning away all of its
//! members because of what was true a while ago would leave them waiting for the next event.

use alloc::vec::Vec;

use super::Cluster;
use crate::gather::Gather;
use crate::host::{Host, Severity};
use crate::object::{self, nodes_of_list};

impl Cluster {
    /// Reads every node of the scheduler's snapshot, new ones included, and forgets those that are gone.
    pub fn survey(&mut self, host: &mut impl Host) {
        let mut news = Vec::new();
        let list = host.node_list();
        let mut whole = !list.is_empty();
        for bytes in nodes_of_list(list) {
            let name = bytes.and_then(|bytes| Ok((object::Node::parse(bytes)?.meta.name, bytes)));
            match name {
                Ok((name, bytes)) => drop(self.take_in(name, bytes, &mut news)),
                Err(error) => {
                    whole = false;
                    let line = say!("list of nodes: ", error);
                    if self.said.is_news(&line) {
                        news.push(line);
                    }
                }
            }
        }
        for line in news {
            host.log(Severity::Error, &line);
        }
        let unread: Vec<_> = self.iter().filter(|(_, node)| node.read_in != self.cycle).map(|(at, _)| at).gather();
        for at in unread {
            let Some(name) = self.node(at).map(|node| node.name.clone()) else { continue };
            if whole {
                self.forget(at);
            } else {
                self.read(host, &name);
            }
        }
        self.all_read();
        // What the last of them told of the time holds for the first, too.
        let placed: Vec<_> = self.iter().filter(|(_, node)| !node.entries().is_empty()).map(|(at, _)| at).gather();
        for at in placed {
            self.settle(at);
        }
    }
}
