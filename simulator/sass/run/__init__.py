"""What runs beside a kernel's own instructions: tensor maps, bulk copies, mbarriers, wgmma."""
