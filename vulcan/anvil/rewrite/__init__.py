"""Programs made from programs that decide the same: folded, cleaned, lifted, simplified."""
