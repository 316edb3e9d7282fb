//! The fields of `qos`, each with what is allowed.

use alloc::borrow::ToOwned;

use super::{
    ClassOptions, Classes, Crane, DefaultRequest, EstimationOptions, Limits, Qos, Reclaimed, ScalingFactors,
    UsageSources,
};
use crate::config::fields::{Fields, Section};
use crate::object::Quantity;
use crate::policy::qos::class::Class;
use crate::policy::qos::load::Percents;
use crate::policy::qos::rules::{IllegalPairs, Undeclared, WithoutUsage};

impl Section for Qos {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.flag("enabled", &mut self.enabled);
        let undeclared = [("Ignore", Undeclared::Ignore), ("Known", Undeclared::Known), ("All", Undeclared::All)];
        fields.choice("undeclared", &mut self.undeclared, &undeclared);
        let illegal_pairs = [("Log", IllegalPairs::Log), ("Reject", IllegalPairs::Reject)];
        fields.choice("illegalPairs", &mut self.illegal_pairs, &illegal_pairs);
        fields.section("classes", &mut self.classes);
        fields.section("bestEffortShare", &mut self.best_effort_share);
        fields.section("reclaimed", &mut self.reclaimed);
        fields.section("usage", &mut self.usage);
        fields.section("estimation", &mut self.estimation);
        fields.flag("nodeThresholds", &mut self.node_thresholds);
        fields.section("hot", &mut self.hot);
        fields.section("evictionWatermarks", &mut self.eviction_watermarks);
        fields.number("evictionMargin", &mut self.eviction_margin, 0..=50);
        self.check_watermarks(fields);
    }
}

impl Section for Classes {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.section("LSE", &mut self.lse);
        fields.section("LSR", &mut self.lsr);
        fields.section("LS", &mut self.ls);
        fields.section("Batch", &mut self.batch);
        fields.section("BE", &mut self.be);
    }
}

impl Section for ClassOptions {
    fn read(&mut self, fields: &mut Fields<'_>) {
        let without_usage = [
            ("Allow", WithoutUsage::Allow),
            ("DenyBesideProtected", WithoutUsage::DenyBesideProtected),
            ("Deny", WithoutUsage::Deny),
        ];
        fields.section("usageThresholds", &mut self.usage_thresholds);
        fields.choice("unknownUsage", &mut self.unknown_usage, &without_usage);
        fields.choice("staleUsage", &mut self.stale_usage, &without_usage);
        fields.flag("besideProtected", &mut self.beside_protected);
    }
}

impl Section for Limits {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.number("cpu", &mut self.cpu, 0..=100);
        fields.number("memory", &mut self.memory, 0..=100);
    }
}

impl Section for Reclaimed {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.flag("denyOverdrawn", &mut self.deny_overdrawn);
        fields.number("reserve", &mut self.reserve, 0..=100);
    }
}

impl Section for UsageSources {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.number("expirationSeconds", &mut self.expiration_seconds, 1..=86_400);
        fields.section("crane", &mut self.crane);
    }
}

impl Section for Crane {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.flag("enabled", &mut self.enabled);
        fields.text("utcOffset", &mut self.utc_offset);
        if self.offset_seconds().is_none() {
            fields.fault("utcOffset", say!("`", self.utc_offset, "` is no offset such as +08:00, -05:30 or Z"));
        }
        fields.number("expirationSeconds", &mut self.expiration_seconds, 1..=86_400);
    }
}

impl Section for EstimationOptions {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.section("scalingFactors", &mut self.scaling_factors);
        fields.section("defaultRequest", &mut self.default_request);
    }
}

impl Section for ScalingFactors {
    fn read(&mut self, fields: &mut Fields<'_>) {
        fields.number("cpu", &mut self.cpu, 1..=1000);
        fields.number("memory", &mut self.memory, 1..=1000);
    }
}

impl Section for DefaultRequest {
    fn read(&mut self, fields: &mut Fields<'_>) {
        for (name, slot) in [("cpu", &mut self.cpu), ("memory", &mut self.memory)] {
            fields.text(name, slot);
            if !Quantity::parse(slot).is_ok_and(|quantity| quantity >= Quantity::ZERO) {
                fields.fault(name, say!("`", slot, "` is no quantity such as 250m or 200Mi"));
            }
        }
    }
}

impl Qos {
    /// A threshold above the point of eviction places pods only for the node to evict them.
    fn check_watermarks(&self, fields: &mut Fields<'_>) {
        let watermarks = self.eviction_watermarks.over(Percents::NONE);
        let margin = self.eviction_margin;
        for class in [Class::Batch, Class::Be] {
            let thresholds = self.classes.rules(class).usage_thresholds;
            for (name, threshold, watermark) in
                [("cpu", thresholds.cpu, watermarks.cpu), ("memory", thresholds.memory, watermarks.memory)]
            {
                let Some(watermark) = watermark else { continue };
                let most = u32::from(watermark).saturating_sub(margin);
                if threshold.is_none_or(|threshold| u32::from(threshold) > most) {
                    let found = threshold.map_or_else(|| "no limit".to_owned(), |threshold| say!(threshold));
                    let mut message = say!(found, " is above the eviction watermark ", watermark);
                    say_to!(&mut message, " less the margin ", margin, ", which is ", most);
                    fields.fault(&say!("classes.", class, ".usageThresholds.", name), message);
                }
            }
        }
    }
}
